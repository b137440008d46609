"""A comparison of two reports says what matters to a DBA."""

import re

from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import row, section, table
from tests.exporter.sysmon.simulated import simulated_report

from ase_exporter.sysmon.difference import changes, headline_changes, obstacles
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report


def log_semaphore(granted: str, waited: str) -> Report:
    lines = [
        "  Log Semaphore Requests",
        row("    Granted", "300.0", "1.0", 18000, granted),
        row("    Local Waited", "300.0", "1.0", 18000, waited),
    ]
    return parse(samples.report(samples.TRANSACTIONS, section("Transaction Management", *lines)))


def test_rows_are_compared_by_their_percentage() -> None:
    found = changes(log_semaphore("41.3", "58.7"), log_semaphore("89.6", "10.4"))
    waited = next(change for change in found if change.name.endswith("Local Waited"))
    assert (waited.measure, waited.before, waited.after) == ("percent_of_total", 58.7, 10.4)


def test_log_semaphore_waits_are_a_headline() -> None:
    found = headline_changes(log_semaphore("41.3", "58.7"), log_semaphore("89.6", "10.4"))
    assert ("Log semaphore waits", 58.7, 10.4) in [(line.name, line.before, line.after) for line in found]


def test_renumbered_threads_are_matched_by_name() -> None:
    def threads(first: int) -> Report:
        lines = [
            "  Thread Utilization (OS %)     User Busy   System Busy        Idle",
            "  -------------------------  ------------  ------------  ----------",
            "  ThreadPool : syb_system_pool",
            f"   Thread {first:<2}   (NetController)      2.3 %         4.2 %      93.4 %",
            f"   Thread {first + 1:<2}   (NetController)      5.3 %         4.2 %      90.4 %",
        ]
        return parse(samples.report(section("Kernel Utilization", *lines)))

    assert changes(threads(10), threads(20)) == []


def test_a_block_that_vanished_because_nothing_happened_is_zero() -> None:
    busy = table(
        "Task Management",
        "  Task Context Switches Due To:",
        row("    Voluntary Yields", "50.0", "1.0", 3000, "100.0"),
    )
    title = "Task Management                   per sec      per xact       count  % of total"
    rule = "---------------------------  ------------  ------------  ----------  ----------"
    before = parse(samples.report("\n".join([title, rule, *busy.split("\n")[2:], samples.RULE])))
    after = parse(
        samples.report("\n".join([title, rule, " ", row("  Connections Opened", 0.0, 0.0, 0), samples.RULE]))
    )
    found = {change.name: (change.before, change.after) for change in changes(before, after)}
    assert found["Task Context Switches Due To: / Voluntary Yields"] in {(50.0, 0.0), (100.0, 0.0)}


def test_the_most_relevant_change_comes_first() -> None:
    text = simulated_report("16.0", 3)
    worse = re.sub(r"(Spinlock Contention +n/a +n/a +n/a +)\d+\.\d(?= %)", r"\g<1>91.6", text, count=1)
    assert changes(parse(text), parse(worse))[0].name.endswith("Spinlock Contention")


def test_reports_that_are_not_comparable_are_warned_of() -> None:
    before, after = parse(simulated_report("15.7", 1)), parse(simulated_report("16.0", 2))
    text = " ".join(obstacles(before, after))
    assert "different versions: 15.7, 16.0" in text and "different servers" in text
    assert obstacles(before, before) == ["the second report does not begin after the end of the first"]
