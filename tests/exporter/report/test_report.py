"""The report on a simulated morning: its figures against the server's own counters, its page, and its errors.

All of it is in one file, as tests of a file share a worker, and the morning takes a while to simulate.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from tests.browser import Opened, opened
from tests.exporter.commands.command_line import Run
from tests.exporter.report.checks import check_alerts, check_changes, check_gaps, check_hours
from tests.exporter.report.conftest import BARE, HOSTILE, HOSTILE_CACHE, RAW, Past
from tests.exporter.report.week import CACHE, FILLING, FILLING_SECONDS, HOUR, INTERVAL, SERVER, START
from tests.exporter.views.test_view import text_of

from ase_exporter.compare.measures import measures
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.report.history import NO_SCRAPE, gap_resolution
from ase_exporter.report.server_report import ServerReport
from ase_exporter.report.view import report_view
from ase_exporter.views.figures import duration, minute, shown
from ase_exporter.views.page import page as html

# Before the story.
FEBRUARY = ["--since", "2026-02-01T00:00Z", "--until", "2026-02-08T00:00Z"]
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def report(morning: Past) -> ServerReport:
    """The report on the whole morning."""
    return morning.report()


def test_hours_gaps_and_alerts_are_those_of_the_story(report: ServerReport, morning: Past) -> None:
    # Hours without a beginning, a change and a gap: few in so short a story.
    assert check_hours(report, morning) == 1
    check_gaps(report, morning)
    assert report.level == "bad"
    check_alerts(report, morning)


def test_a_server_that_is_new_has_a_gap_before_it(morning: Past) -> None:
    found = morning.report(before=6 * 24 * HOUR)
    assert gap_resolution(found.period, found.scrape) == 600
    assert found.scrape == pytest.approx(INTERVAL, rel=0.1)
    first, second = found.gaps
    assert (first.name, first.start) == (NO_SCRAPE, found.period.start)
    assert first.end == pytest.approx(morning.story.start, abs=600)
    assert second.start == pytest.approx(START + morning.story.away[0] * HOUR, abs=600 + INTERVAL)


def test_the_change_is_judged_as_compare_does(report: ServerReport, morning: Past) -> None:
    check_changes(report, morning, ["better"])
    (effect,) = report.effects
    assert [(mark.kind, mark.old, mark.new) for mark in effect.marks] == [("cache", "2", "8")]
    (row,) = [row for row in effect.judged if row.name == CACHE]
    assert row.values[0] == pytest.approx(morning.truth.contention(10, CACHE), abs=0.005)


def test_the_worst_hour_is_before_the_change_and_what_eases_it_after(
    report: ServerReport, morning: Past
) -> None:
    worst, *_ = report.worst
    assert worst.start < START + min(morning.story.changes) * HOUR and worst.hottest == CACHE
    # The diagnosis ranks them.
    assert worst.found and worst.found.word == "SPINS"
    ranks = [each.found.rank if each.found else -9.0 for each in report.worst]
    assert ranks == sorted(ranks, reverse=True)
    # The setting of then has gone: what is still to do is that of the hours since the change.
    assert (report.to_ease.hour.start, report.to_ease.later) == (START + 12 * HOUR, ())
    first = report.to_ease.diagnosis.findings[0]
    assert first.subject and first.subject.name == "addrlockspins"
    assert first.definition and first.share and first.held > 0.9
    text = text_of(page_of(report))
    for said in (
        first.sentence,
        f"gains at most {shown(first.share, 'ratio')} of session time",
        *first.definition.next,
        f"expect: {first.definition.expect}",
        "ase-exporter advise",
    ):
        assert said in text, said


def test_the_forecast_is_the_true_time_until_the_database_is_full(
    report: ServerReport, morning: Past
) -> None:
    left = FILLING_SECONDS - morning.story.hours * HOUR
    rows = dict(report.tables["full"].rows)
    assert rows["data", FILLING] == pytest.approx(left, rel=0.02)
    assert [*rows.values()] == sorted(rows.values())


def test_the_verdict_names_what_matters_for_few_queries(report: ServerReport) -> None:
    parts = (
        "1 change (1 better)",
        "(critical)",
        "will be full in",
        f"data are missing for {duration(report.missing)}.",
    )
    for part in (f"SPINS: spinlock {CACHE}: ", *parts):
        assert part in report.verdict
    assert report.verdict.count("also SATURATED") == 1
    # Each effect is compared by every measure.
    assert report.requests <= 70 + (len(measures()) + 25) * len(report.effects)


def test_load_and_tables_are_those_of_the_story(report: ServerReport, morning: Past) -> None:
    load = {each.title: each for each in report.load}
    known = [hour for hour in report.worst if hour.transactions == hour.transactions]
    mean = sum(hour.transactions for hour in known) / len(known)
    assert load["transactions"].per_second == pytest.approx(mean, rel=0.25)
    assert load["transactions"].per_transaction == 1.0 and load["CPU seconds"].per_transaction
    account = report.tables["account"]
    titles = {each.title for each in catalogue().account.values()}
    assert account.rows and {name for (name,), _ in account.rows} <= titles and not account.reason
    # The story has CPU, transactions and spinlocks alone.
    assert report.tables["waits"].reason == "the collector waits was not read in the period"
    reason = "the collector cached_statements, which is off by default, was not read in the period"
    assert report.tables["statements"].reason == reason
    page = text_of(page_of(report))
    assert f"transactions per second {shown(load['transactions'].per_second)}" in page
    assert f"Not known: {reason}" in page and page.index("Load") < page.index("Waits") < page.index("I/O")


# The page


def page_of(report: ServerReport) -> str:
    return html(report_view(report))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """A browser."""
    with opened(tmp_path_factory.mktemp("browser") / "page.html") as found:
        yield found


def show(seen: Opened, page: str) -> None:
    """Show a page in the browser; one that is mailed must link to nothing, too."""
    seen.show(page)
    assert seen.page.locator("a, form").count() == 0


def test_the_page_loads_nothing_in_either_theme(report: ServerReport, seen: Opened) -> None:
    page = page_of(report)
    assert "default-src 'none'" in page and "<script" not in page
    show(seen, page)
    assert seen.page.locator("figure svg").count() == 4
    grounds = set()
    for theme in THEMES:
        seen.page.emulate_media(color_scheme=theme)
        grounds.add(seen.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 1100
    assert len(grounds) == 2


def test_the_page_shows_the_figures_of_the_report(report: ServerReport) -> None:
    text = text_of(page_of(report))
    for said in (
        report.verdict,
        shown(report.worst[0].spinning, "ratio"),
        "cache default data cache: partitions: 2 → 8",
        "data archive",
        f"{report.requests} queries",
        f"{minute(report.gaps[0].start)} {minute(report.gaps[0].end)} {duration(report.missing)} no data",
    ):
        assert said in text, said


def test_hostile_names_stay_text(morning: Past, seen: Opened) -> None:
    show(seen, page_of(morning.report(HOSTILE)))
    text = " ".join(seen.page.locator("body").inner_text().split())
    legends = seen.page.locator("figure .legend span").all_text_contents()
    assert HOSTILE in text and HOSTILE_CACHE in text
    assert any(each.endswith(HOSTILE_CACHE) for each in legends)


def test_a_server_of_which_little_is_recorded_gets_what_can_be_said(morning: Past) -> None:
    found = morning.report(BARE)
    text = text_of(page_of(found))
    for said in ("NOT KNOWN: nothing was found.", "No change is recorded in the period.", "no alert fired"):
        assert said in text, said
    assert re.search(r"not judged: [^(]*\bspins\b", text)
    assert "nan" not in text.lower()


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "NOBODY"], 'Prometheus has no data of {instance="NOBODY"} in it; it has '),
        (["--target", RAW], 'Prometheus has no series ase:cpu_busy:ratio_rate1m of {instance="RAW"}'),
        (["--target", SERVER, "--selector", 'job="other"'], "Prometheus has no data of "),
        ([], "-S: expected one of the servers in Prometheus"),
        (["--target", SERVER, "--selector", "job=~"], "parse error"),
        (["--target", SERVER, *FEBRUARY], "Prometheus has no data of"),
        (["--target", SERVER, "--output", "/nowhere/page.html"], "--output /nowhere/page.html: No such file"),
    ],
)
def test_an_error_is_one_line(
    morning: Past, run: Run, tmp_path: Path, options: list[str], message: str
) -> None:
    output = [] if "--output" in options else ["--output", str(tmp_path / "page.html")]
    period = [] if "--since" in options else morning.range
    ended = run("report", "--prometheus", morning.url, *period, *options, *output)
    too_little = RAW in options or "--since" in options
    assert ended.returncode == (1 if too_little else 2)
    assert not too_little or "`ase-exporter " in ended.stderr
    assert message in ended.stderr and ended.stderr.count("\n") == 1, ended.stderr
    assert not (tmp_path / "page.html").exists()


def test_the_command_writes_the_page(morning: Past, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    of = ("--target", SERVER, *morning.range)
    ended = run("report", "--prometheus", morning.url, *of, "--output", str(path))
    assert ended.returncode == 0, ended.stderr
    assert re.fullmatch(rf"{path}: [\d.]+ [KM]B, \d+ queries\n", ended.stdout)
    assert "SPINS: spinlock" in path.read_text(encoding="utf-8")
    ended = run("report", "--prometheus", morning.url, "-S", BARE, *morning.range, "--output", str(path))
    assert ended.returncode == 1
    assert f"{BARE}: NOT KNOWN; " in ended.stdout and "`ase-exporter check` what to switch on" in ended.stdout
