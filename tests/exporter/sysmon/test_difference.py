"""A comparison of two reports says what matters to a DBA."""

import re

from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import row, section, table
from tests.exporter.sysmon.simulated import simulated_report

from ase_exporter.sysmon.difference import changes, configuration_changes, headline_changes
from ase_exporter.sysmon.findings import obstacles, pair_findings
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report


def log_semaphore(granted: int, waited: int) -> Report:
    total = (granted + waited) / 100
    lines = [
        "  Log Semaphore Requests",
        row("    Granted", granted / 60, "1.0", granted, f"{granted / total:.1f}"),
        row("    Local Waited", waited / 60, "1.0", waited, f"{waited / total:.1f}"),
    ]
    return parse(samples.report(samples.TRANSACTIONS, section("Transaction Management", *lines)))


def test_rows_are_compared_by_their_percentage_and_waits_for_the_log_are_a_headline() -> None:
    sides = log_semaphore(24780, 35220), log_semaphore(53760, 6240)
    waited = next(change for change in changes(*sides) if change.name.endswith("Local Waited"))
    assert (waited.measure, waited.before, waited.after) == ("percent_of_total", 58.7, 10.4)
    headlines = [(line.name, line.before, line.after) for line in headline_changes(*sides)]
    assert ("Log semaphore waits", 58.7, 10.4) in headlines


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


def test_the_relevant_sessions_change_comes_first() -> None:
    text = simulated_report("16.0", 3)
    worse = re.sub(r"(Spinlock Contention +n/a +n/a +n/a +)\d+\.\d(?= %)", r"\g<1>91.6", text, count=1)
    assert changes(parse(text), parse(worse))[0].name.endswith("Spinlock Contention")


def test_the_diagnosis_speaks_first_and_says_what_is_not_known() -> None:
    """A server at its limit whose transactions read ten times as much as before."""

    def busy(user: float, misses: int) -> Report:
        engines = samples.ENGINES.replace("consuming 1.1", f"consuming {(user + 4.0) / 50:.1f}")
        states = f"{user} %  4.0 %  0.0 %  {96.0 - user} %"
        engines = re.sub(r"(Engine \d +)\d.*", rf"\g<1>{states}", engines)
        searches = row("      Cache Misses", misses / 60, "1.0", misses, "100.0")
        cache = samples.cache("default data cache", "    Cache Searches", searches)
        parts = section("Kernel Utilization", engines), samples.TRANSACTIONS
        return parse(samples.report(*parts, section("Data Cache Management", cache)))

    quiet, worse = busy(20.0, 720_000), busy(96.0, 7_200_000)
    found = pair_findings(quiet, worse)
    assert found[0].startswith("HEAVIER: 100 logical reads a transaction, 90.0% above the usual")
    # Of session time a report has nothing.
    assert found[1] == "SATURATED: engines are 100.0% busy"
    assert pair_findings(worse, quiet) == ["gone: " + found[1]]
    assert pair_findings(worse, worse) == [found[1] + "; so it was before"]


def test_a_cache_or_device_of_one_side_is_configuration_and_no_change() -> None:
    def caches(*names: str) -> Report:
        texts = [samples.cache(name) for name in names]
        return parse(samples.report(samples.TRANSACTIONS, section("Data Cache Management", *texts)))

    one, two = caches("a", "b"), caches("b", "c")
    assert changes(one, two) == []
    assert configuration_changes(one, two) == ["caches: only before: Cache: a; only after: Cache: c"]
    assert configuration_changes(one, one) == []


def test_reports_that_are_not_comparable_are_warned_of() -> None:
    before, after = parse(simulated_report("15.7", 1)), parse(simulated_report("16.0", 2))
    text = " ".join(obstacles(before, after))
    assert "different versions: 15.7, 16.0" in text and "different servers" in text
    assert obstacles(before, before) == ["the second report does not begin after the end of the first"]
