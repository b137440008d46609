"""`top`, MCP, the report, State panels and the landing page say what the package says, of generated states.

tests/exporter/readings/test_watch.py is about what scrapes export.
"""

import re
import time
from html import unescape
from pathlib import Path

import pytest
from dashboards.common import VERDICT
from dashboards.queries import several
from tests.exporter.compare.conftest import prometheus_with
from tests.exporter.diagnosis.states import NUMBERS, State, families_at, generated, healthy, said
from tests.needs import needs_prometheus

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.data import diagnosis_data
from ase_exporter.diagnosis.diagnose import diagnose
from ase_exporter.diagnosis.exported import diagnosis_families
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.tools import TOOLS
from ase_exporter.readings.samples import Sample, Tracker
from ase_exporter.readings.watch import WINDOW
from ase_exporter.report.past_diagnosis import read_diagnosis
from ase_exporter.scraping.result import ScrapeSummary, TargetState
from ase_exporter.top.frames import frame
from ase_exporter.top.header import _account
from ase_exporter.web.pages import landing_page, server_page

# Of one in so many, the tool of MCP is asked, too: it asks Prometheus for much else.
ASKED = 12
INTERVAL, SCRAPES = 15, 5


def sample_of(state: State) -> Sample:
    """A state as `top` has it after two scrapes."""
    tracker = Tracker()
    for seconds in (0.0, WINDOW):
        tracker.note(seconds, families_at(state, seconds, last=seconds > 0))
    answers = state.series["ase_up", ()]
    return Sample(
        target="A",
        at=0.0,
        monotonic=0.0,
        interval=5.0,
        error="" if answers else "no answer",
        series=tracker.series(),
        off=frozenset(state.switched_off),
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_top_says_what_the_package_says(number: int) -> None:
    for seed in range(number):
        state = generated(seed)
        expected, shown = diagnose(state), frame(sample_of(state)).diagnosis
        if not state.series["ase_up", ()]:
            assert shown.state == expected.state == "down", seed
            continue
        # A scrape proves that the server answers; rows that no collector has given were not there.
        unknown = {each.name for each in shown.unknown} - {"down"}
        rare = {"locks_gone", "locks_low", "long_transaction", "unavailable", "space_full"}
        assert unknown - rare == {each.name for each in expected.unknown} - rare, seed
        assert said(shown)[:3] == said(expected)[:3], seed


def exported(states: dict[str, State], now: float) -> list[str]:
    """What the exporter said of all states in each scrape until now."""
    lines = []
    for name, state in states.items():
        for family in diagnosis_families(diagnose(state)):
            for values, value in family.samples:
                pairs = (("instance", name), *zip(family.labels, values, strict=True))
                shown = ",".join(f'{label}="{text}"' for label, text in pairs)
                lines += [
                    f"{family.name}{{{shown}}} {value!r} {now - INTERVAL * number}"
                    for number in reversed(range(SCRAPES))
                ]
    return lines


@pytest.mark.e2e
@needs_prometheus
@pytest.mark.parametrize("number", NUMBERS)
def test_mcp_and_the_report_say_what_the_package_says(number: int, tmp_path: Path) -> None:
    states = {f"server{seed}": generated(seed) for seed in range(number)}
    states = {name: state for name, state in states.items() if state.series["ase_up", ()]}
    now = time.time() // INTERVAL * INTERVAL - 60
    start = now - INTERVAL * (SCRAPES - 1)
    with prometheus_with(exported(states, now), tmp_path) as url, Prometheus(url) as prometheus:
        for asked, (name, state) in enumerate(states.items()):
            judged = diagnose(state)
            expected = said(judged)
            # The report reads this, too, over the worst hour.
            found = read_diagnosis(prometheus, f'instance="{name}"', Span("now", start, now))
            ranks = {each.name: each.rank for each in found.findings}
            assert (found.state, found.word, ranks, {*found.unknown}) == expected, name
            assert found.account == pytest.approx(judged.account.parts), name
            for then, finding in zip(found.findings, judged.findings, strict=True):
                assert then.share == pytest.approx(finding.share) and then.held == 1, name
            if found.findings:
                assert found.findings[0].subject == judged.findings[0].subject, name
            (panel,) = several(VERDICT.queries)
            (shown,) = prometheus.query(panel.expr.replace("$selector", f'instance="{name}"'), now)
            assert shown.labels["word"] == expected[1], name
            if asked % ASKED == 0:
                window = {"server": name, "start": str(start), "end": str(now)}
                answer = TOOLS["diagnose"].call(Sources(url), window)
                assert answer["word"] == expected[1], name
                assert [each["finding"] for each in answer["causes"]] == list(expected[2]), name
                assert {each["finding"] for each in answer["not_judged"]} == expected[3], name


def test_no_view_takes_what_is_known_of_the_time_for_all_of_it() -> None:
    wholes = set()
    for found in map(diagnose, map(generated, range(60))):
        wholes.add(whole := found.account.whole)
        told = {each["share"] is None for each in diagnosis_data(found)["account"] if each["sessions"]}
        state = TargetState()
        state.update(ScrapeSummary(up=True), found)
        page = server_page("A", state, []).partition("Where the time goes")[2].partition("</table>")[0]
        assert not found.account.sessions or (told == {not whole} and ("%</td>" in page) == whole)
        assert whole or "%" not in _account(found.account)
    assert wholes == {True, False}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_pages_say_what_the_package_says_the_worst_first(number: int) -> None:
    states = {}
    for seed in range(number):
        summary, state = ScrapeSummary(up=True, version="16.0 SP03"), TargetState()
        state.update(summary, diagnose(generated(seed)))
        states[f"server{seed}"] = state
    page = landing_page(states, changed={})
    rows = re.findall(
        r'href="server.target=(server\d+)">.*?<span class="\w+">([A-Z ]+)</span>', page, re.DOTALL
    )
    assert dict(rows) == {name: each.diagnosis.word for name, each in states.items() if each.diagnosis}
    ranks = [states[name].rank for name, _ in rows]
    assert ranks == sorted(ranks, reverse=True)
    for name, each in states.items():
        page = unescape(server_page(name, each, []))
        found = each.diagnosis
        assert found and f'<p class="verdict {found.level}">{found.sentence}</p>' in page
        assert [finding.sentence for finding in found.findings if finding.sentence not in page] == []
        assert [unknown.reason for unknown in found.unknown if unknown.reason not in page] == []


def test_shares_are_of_all_time_or_not_known() -> None:
    state, known = TargetState(), healthy()
    for switched_off, has_shares in ((set[str](), True), ({"waits"}, False)):
        known.switched_off = switched_off
        state.update(ScrapeSummary(up=True), diagnose(known))
        page = server_page("ONE", state, [])
        cells = re.findall(r'<td class="number"[^>]*>([^<]*)</td>', page.partition("Where the time goes")[2])
        assert any("%" in each for each in cells) == has_shares and cells
    state.update(ScrapeSummary(error="refused"), None)
    assert "Where the time goes" not in server_page("ONE", state, [])


def test_a_scrape_of_a_part_says_whether_the_server_answers_and_nothing_else() -> None:
    state = TargetState()
    assert (state.word, state.level) == ("not scraped yet", "none")
    state.update(ScrapeSummary(up=True), None)
    assert (state.word, state.level) == ("up", "good")
    found = diagnose(generated(0))
    state.update(ScrapeSummary(up=True), found)
    state.update(ScrapeSummary(up=True), None)
    assert state.diagnosis is found
    state.update(ScrapeSummary(error="refused"), None)
    assert (state.word, state.level) == ("DOWN", "bad")
    assert state.diagnosis and state.diagnosis.text == "refused" and state.rank > found.rank
