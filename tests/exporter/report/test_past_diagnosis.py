"""What the exporter said in spans of time, from the series of its diagnosis."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.compare.conftest import prometheus_with

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import Subject
from ase_exporter.report.past_diagnosis import found_by_span, read_diagnosis
from ase_exporter.report.profile import ProfileReader

START = time.time() // 60 * 60 - 131 * 60
ONE = 'instance="ONE"'


def scrapes() -> Iterator[str]:
    """Two hours of a server that spins from minute 91 on, on two spinlocks; who waits for what is not read."""
    for minute in range(131):
        spins = minute > 90
        finding, word, rank = ("spinning", "SPINS", 0.5) if spins else ("works", "WORKS", -2.0)
        named = f'{ONE},finding="{finding}",word="{word}"'
        subject = (
            f'kind="spinlock",subject="{"a" if minute < 100 else "b"}"' if spins else 'kind="",subject=""'
        )
        for series, value in {
            f"ase_diagnosis_rank{{{named}}}": rank,
            f"ase_diagnosis_first_info{{{named},{subject}}}": 1.0,
            f'ase_diagnosis_finding{{{ONE},finding="spinning",word="SPINS"}}': float(spins),
            f'ase_diagnosis_account_sessions{{{ONE},part="spinning"}}': 4.0 if spins else 0.0,
            f'ase_exporter_collector_available{{{ONE},collector="waits",reason="no_role"}}': 0.0,
        }.items():
            yield f"{series} {value} {START + 60 * minute}"
        if spins:
            yield f'ase_diagnosis_share{{{ONE},finding="spinning"}} 0.4 {START + 60 * minute}'
        # Another one is down for a fourth of the first hour and for a minute of the second, and spins otherwise.
        finding, word, rank = (
            ("down", "DOWN", 2) if minute < 15 or minute == 90 else ("spinning", "SPINS", 0.99)
        )
        for metric, value in ("rank", rank), ("first_info", 1.0):
            named = f'instance="DOWN",finding="{finding}",word="{word}"'
            yield f"ase_diagnosis_{metric}{{{named}}} {value} {START + 60 * minute}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with prometheus_with(scrapes(), tmp_path_factory.mktemp("findings")) as url, Prometheus(url) as one:
        yield one


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (120, [(0, "WORKS"), (60, "SPINS")]),
        (110, [(0, "WORKS"), (60, "SPINS")]),
        (130, [(0, "WORKS"), (60, "SPINS"), (120, "SPINS")]),
        (40, [(0, "WORKS")]),
        (95, [(0, "WORKS"), (60, "SPINS")]),
        (85, [(0, "WORKS"), (60, "WORKS")]),
    ],
)
def test_the_last_span_is_judged_though_it_is_shorter(
    server: Prometheus, minutes: int, expected: list[tuple[int, str]]
) -> None:
    found = found_by_span(server, ONE, START, START + 60 * minutes, 3600)
    assert [(round((each.start - START) / 60), each.word) for each in found] == expected


def test_a_span_has_means_and_what_it_was_about_most_often(server: Prometheus) -> None:
    # Scrapes of the minutes 71 to 130, both included.
    found = read_diagnosis(server, ONE, Span("hour", START + 70.5 * 60, START + 130.5 * 60))
    (finding,) = found.findings
    assert (found.state, found.word, found.level) == ("spinning", "SPINS", "warn")
    assert finding.held == pytest.approx(40 / 60) and finding.rank == pytest.approx(0.5 * 40 / 60)
    # Of the scrapes in which it was found alone.
    assert finding.share == pytest.approx(0.4)
    assert finding.subject == Subject("spinlock", "b")
    assert found.account == {"spinning": pytest.approx(4.0 * 40 / 60)}
    assert (
        finding.sentence
        == "SPINS: spinlock b: 40.0% of session time, found in 66.7% of the scrapes that judged it"
    )


def test_what_stopped_work_for_a_while_comes_first(server: Prometheus) -> None:
    found = read_diagnosis(server, 'instance="DOWN"', Span("hour", START, START + 3600))
    assert [each.word for each in found.findings] == ["DOWN", "SPINS"] and found.rank > 1
    spans = found_by_span(server, 'instance="DOWN"', START, START + 7200, 3600)
    assert [(each.word, each.rank > 1) for each in spans] == [("DOWN", True), ("SPINS", False)]


def test_what_no_scrape_has_judged_is_not_known_and_why(server: Prometheus) -> None:
    found = read_diagnosis(server, ONE, Span("hour", START, START + 3600))
    assert (found.word, found.level, found.findings) == ("WORKS", "good", ())
    assert found.unknown.keys() == catalogue().findings.keys() - {"spinning"}
    assert "the login lacks mon_role (collector waits)" in found.unknown["log_waits"]
    assert "collector engines is off" in found.unknown["saturated"]
    assert found.not_judged.count("the login lacks mon_role (collector waits)") == 1
    nothing = read_diagnosis(server, 'instance="TWO"', Span("hour", START, START + 3600))
    assert (nothing.word, nothing.level, nothing.account) == ("NOT KNOWN", "none", {})


def test_an_outage_takes_nothing_from_the_load(tmp_path: Path) -> None:
    end, count = time.time() // 900 * 900, 'ase_transactions_total{instance="A"}'
    lines = [f"{count} {100 * at} {end - 3600 + at}" for at in range(0, 3600, 15) if not 1330 < at < 2000]
    with prometheus_with(lines, tmp_path) as url, Prometheus(url) as server:
        first, *_ = ProfileReader(server, 'instance="A"', Span("hour", end - 3600, end), 15).load()
    assert first.per_second == pytest.approx(100, rel=0.01)
