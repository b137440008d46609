"""What happened over hundreds of reports is said in sentences, and shown on a page that loads nothing."""

import random
import re
from datetime import datetime, timedelta

import pytest

from ase_exporter.compare.sysmon_headlines import Trends, sysmon_page, trend_findings
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PERCENT_OF_TOTAL, Cell, Header, Report, Row, Section

START = datetime(2024, 3, 1)


def report(number: int, commits: float, waits: float, server: str = "PROD") -> Report:
    """A report of one hour with committed transactions per second and the share of log semaphore requests that wait."""
    ended = START + timedelta(hours=number)
    commit = Row(
        ("Transaction Summary",),
        "Committed Xacts",
        1,
        (Cell(PER_SEC, commits, "", 0), Cell(COUNT, commits * 60, "", 0)),
    )
    waited = Row(("Log Semaphore Requests",), "Waited", 2, (Cell(PERCENT_OF_TOTAL, waits, "", 0),))
    sections = [
        Section("Transaction Profile", 1, rows=[commit]),
        Section("Transaction Management", 2, rows=[waited]),
    ]
    return Report(Header(server, started=ended, ended=ended, interval=timedelta(minutes=1)), sections)


def trends(count: int = 200, server: str = "PROD") -> Trends:
    """Commits fall by half at report 120, and the log has to be waited for in report 50 alone; in any order."""
    rng = random.Random(3)
    found = Trends()
    for number in rng.sample(range(count), count):
        commits = rng.gauss(1000, 20) * (0.5 if number >= 120 else 1.0)
        waits = 60.0 if number == 50 else rng.uniform(2, 4)
        found.add(f"{number}.txt", report(number, commits, waits, server))
    return found


def test_a_change_and_an_outlier_are_named_with_time_and_file() -> None:
    change, outlier = trend_findings(trends())
    assert change.startswith("PROD changed for good from 2024-03-06 00:00 (120.txt): Committed transactions ")
    before, after = (float(text.replace(",", "")) for text in re.findall(r"([\d,.]+) /s", change))
    assert abs(before - 1000) < 10 and abs(after - 500) < 10
    assert outlier.startswith(
        "PROD outlier at 2024-03-03 02:00 (50.txt): Log semaphore waits 60 %, around it "
    )


@pytest.mark.parametrize("period", [3, 7, 10, 24])
def test_what_comes_again_and_again_is_neither_a_change_nor_an_outlier(period: int) -> None:
    rng = random.Random(period)
    waits = [80.0, *(rng.choice((0.0, 1.0, 2.0)) for _ in range(period - 1))]
    found = Trends()
    for number in range(300):
        found.add(f"{number}.txt", report(number, 5, waits[number % period]))
    assert trend_findings(found) == []


def test_reports_without_their_time_are_counted_and_left_out() -> None:
    found = trends(3)
    found.add("x", Report(Header("PROD")))
    assert (len(found.files), found.undated, found.incomplete) == (3, 1, 3)


def test_servers_are_not_mixed() -> None:
    found = trends()
    for number in range(200):
        found.add(f"b{number}", report(number, 5, 0.0, "TEST"))
    assert len(trend_findings(found)) == 2
    assert [(series.server, series.name) for series in found.series()] == [
        ("PROD", "Committed transactions"),
        ("PROD", "Log semaphore waits"),
        ("TEST", "Committed transactions"),
    ]


def test_the_page_has_a_time_axis_and_the_values_of_each_moment_and_does_not_grow() -> None:
    pages = [
        sysmon_page([("x", report(count, 1, 1))], trends(count), findings=["<one>"])
        for count in (10, 500, 1000)
    ]
    assert re.search(r"<title>2024-03-01 01:00:00: [\d,.]+ /s</title>", pages[0])
    assert pages[0].count("<title>2024-") == 2 * 10
    for page in pages:
        assert ">2024-03-01 00:00</span>" in page and "&lt;one&gt;" in page
        assert not re.search(r"(?:src|href)=|<script", page)
    assert re.search(r" to \d\d:\d\d:\d\d: ", pages[2]) and len(pages[2]) < 1.1 * len(pages[1])
