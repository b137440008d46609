"""Server errors of other clients, mirrored devices, excerpts, and what a report says about itself."""

import gzip

import pytest
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import UNDERLINE, row, section, table
from tests.exporter.sysmon.simulated import simulated_report

from ase_exporter.sysmon.metrics import headline_values
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.text import decode


def test_mirror_semaphores_keep_their_device() -> None:
    lines = ["  Device Activity Detail", "  ----------------------", " "]
    for name, waited in (("data_1", 5), ("data_2", 9)):
        lines += [
            "  Device:",
            f"    /dev/{name}",
            f"    {name:<25}     per sec      per xact       count  % of total",
            UNDERLINE,
            row("    Writes", "1.0", "0.1", 60, "100.0"),
            UNDERLINE,
            row("  Total I/Os", "1.0", "0.1", 60, "50.0"),
            " ",
            row("  Mirror Semaphore Granted", "1.0", "0.1", 60 - waited, "90.0"),
            row("  Mirror Semaphore Waited", "0.1", "0.1", waited, "10.0"),
            " ",
        ]
    report = parse(samples.report(section("Disk I/O Management", *lines)))
    for name, waited in (("data_1", 5), ("data_2", 9)):
        found = report.find("Disk I/O Management", "Mirror Semaphore Waited", "Device Activity Detail", name)
        assert found and found.get("count") == waited


@pytest.mark.parametrize(
    "error",
    [
        "Msg 11039, Level 16, State 1:\nServer 'P', Procedure 'sp_sysmon_locks', Line 77:\nIt failed.",
        'Msg 11039 (severity 16, state 1) from P Procedure sp_sysmon_locks Line 77:\n\t"It failed."',
        "Msg 11039, Level 16, State 1, Server P, Procedure sp_sysmon_locks, Line 77\nIt failed.",
        "Server message:\nnumber(11039) severity(16) state(1) line(77)\nServer 'P' procedure 'sp_sysmon_locks'\n"
        "It failed.",
    ],
    ids=["isql", "tsql", "one-line", "ct-library"],
)
def test_a_section_lost_to_a_server_error_is_named(error: str) -> None:
    report = parse(samples.report(samples.TRANSACTIONS, error))
    assert [(message.number, message.level, message.procedure) for message in report.messages] == [
        (11039, 16, "sp_sysmon_locks")
    ]
    assert report.messages[0].text == "It failed."
    assert "section Lock Management (lost to server error 11039)" in report.missing


def test_a_date_in_another_language_gives_a_warning() -> None:
    text = samples.report(samples.TRANSACTIONS).replace("Nov 03, 2025 09:01:00", "Okt 03, 2025 09:01:00")
    report = parse(text)
    assert report.header.ended is None
    assert "Sampling Ended at: 'Okt 03, 2025 09:01:00' is no date in English" in report.warnings[-1].text


def test_a_figure_cut_in_the_middle_is_left_out() -> None:
    text = samples.report(samples.TRANSACTIONS)
    cut = text[: text.index("72000") + 2]
    report = parse(cut)
    assert not list(report.cells()) and not report.complete
    assert "cut in the middle" in report.unplaced[0].text


def test_recommendations_keep_their_cache() -> None:
    advice = [
        "    Tuning Recommendations for Data cache : log cache",
        "    -------------------------------------",
        "    - Consider removing the 16k pool for this cache.",
    ]
    part = parse(
        samples.report(section("Data Cache Management", samples.cache("log cache", *advice)))
    ).sections[0]
    assert part.recommendations[0].about == "log cache"


def test_settings_of_the_process_kernel_are_two_rows() -> None:
    lines = [
        "  Your Runnable Process Search Count is set to 2000",
        "  and I/O Polling Process Count is set to 10",
    ]
    part = parse(samples.report(section("Kernel Utilization", *lines))).sections[0]
    assert [row.label for row in part.rows] == [
        "Your Runnable Process Search Count",
        "I/O Polling Process Count",
    ]


def test_an_excerpt_without_its_section_is_read_and_is_not_complete() -> None:
    report = parse(table("Lock Summary", row("  Total Lock Requests", "10.0", "1.0", 600)) + "\n")
    assert report.find("Lock Management", "Total Lock Requests", "Lock Summary")
    assert not report.complete and "the header" in report.missing


def test_the_process_kernel_gets_cpu_units_and_throughput() -> None:
    values = headline_values(parse(simulated_report("15.0.3", 1)))
    engines = values["engine_busy_ratio"]
    units = values["cpu_units"][()]
    assert units == pytest.approx(sum(value for labels, value in engines.items() if "cpu" in labels))
    commits = values["committed_transactions_per_second"][()]
    assert values["throughput_per_cpu_unit"][()] == pytest.approx(commits / units, rel=0.01)


def test_a_report_without_a_section_is_not_complete_and_names_it() -> None:
    text = simulated_report("16.0", 1)
    start, end = text.index("Recovery Management"), text.index("Disk I/O Management")
    report = parse(text[:start] + text[end:])
    assert report.ended and not report.complete
    assert report.missing == ["section Recovery Management"]


def test_a_gzip_file_is_known_by_its_content() -> None:
    text = simulated_report("16.0", 1)
    assert parse(decode(gzip.compress(text.encode()))).complete


def test_only_a_report_that_is_cut_is_called_cut() -> None:
    text = samples.report(samples.TRANSACTIONS, end="")
    assert parse(text).warnings[-1].text == "no End of Report line: the text is cut"
    stopped = parse(text + "(return status = -6)\n")
    assert "is cut" not in stopped.warnings[-1].text and not stopped.complete
