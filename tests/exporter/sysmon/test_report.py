"""What reports look like in odd places, and that nothing of it is misread."""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import parse_all, row, section, table
from tests.exporter.sysmon.simulated import simulated_report

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon import report as sysmon_report
from ase_exporter.sysmon.lines import MAX_LINE, open_lines
from ase_exporter.sysmon.metrics import headline_values
from ase_exporter.sysmon.report import NotAReportError, parse, read_reports

REMARKS = load_yaml(Path(__file__).with_name("remarks.yaml").read_text())
CASES = load_yaml(Path(__file__).with_name("rows.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_rows_in_odd_layouts(case: dict[str, Any]) -> None:
    report = parse(samples.report(section(case["section"], case["text"].replace("^I", "\t"))))
    for wanted in case["rows"]:
        found = report.find(case["section"], wanted["row"], *wanted.get("path", ()))
        assert found and {cell.measure: cell.value for cell in found.cells} == wanted["cells"]


@pytest.mark.parametrize("case", REMARKS, ids=lambda case: case["name"])
def test_what_is_said_of_a_report(case: dict[str, Any]) -> None:
    parts = samples.TRANSACTIONS, *case.get("sections", ())
    text = samples.report(*parts, end=case.get("end", samples.END))
    for old, new in case.get("replaced", {}).items():
        text = text.replace(old, new)
    report = parse(text)
    said: dict[str, object] = {
        kind: [f"{remark.line}: {remark.text}" for remark in getattr(report, kind)]
        for kind in ("warnings", "unread", "contradictions")
    }
    said["messages"] = [[each.number, each.level, each.procedure, each.text] for each in report.messages]
    said["return_status"] = report.return_status
    assert {kind: said[kind] for kind in said.keys() & case.keys()} == {
        kind: case[kind] for kind in said.keys() & case.keys()
    }
    assert case.get("missing") in (None, *report.missing) and case.get("present") not in report.missing
    assert not report.complete


def test_header_joins_wrapped_values_and_reads_times() -> None:
    header = parse(samples.report(samples.TRANSACTIONS)).header
    assert header.server == "PROD_DS"
    assert header.version.endswith("ase160sp03pl02/3024/64-bit/FBO/Thu Mar 22 01:00:00 2018")
    assert (header.started, header.ended) == (datetime(2025, 11, 3, 9, 0), datetime(2025, 11, 3, 9, 1))
    assert header.interval == timedelta(minutes=1)
    assert header.mode == "No Clear"
    assert header.cleared == datetime(2025, 11, 1)


def test_header_of_12_5_knows_when_counters_were_cleared_and_sampled() -> None:
    header = samples.HEADER.replace("Sampling Started at:  ", "Statistics Cleared at:")
    header = header.replace("Sampling Ended at:     Nov 03, 2025 09:01:00", "Statistics Sampled at: 09:01:00")
    header = "\n".join(
        line for line in header.splitlines() if not line.startswith(("Sample Mode", "Counters"))
    )
    read = parse(samples.report(samples.TRANSACTIONS, header=header)).header
    assert (read.started, read.ended) == (datetime(2025, 11, 3, 9, 0), datetime(2025, 11, 3, 9, 1))
    assert read.cleared == read.started
    assert read.mode == ""


def test_overflow_is_absent_with_a_warning_and_negatives_are_kept_and_flagged() -> None:
    lines = [
        row("  Total Lock Requests", "*" * 12, "12.5", "*" * 10),
        row("  Avg Lock Contention", "-35791.4", "-0.3", -2147483, "-1.0"),
    ]
    report = parse(samples.report(section("Lock Management", table("Lock Summary", *lines))))
    total = report.find("Lock Management", "Total Lock Requests")
    waits = report.find("Lock Management", "Avg Lock Contention")
    assert total and total.overflow == ("per_sec", "count") and total.get("per_xact") == 12.5
    assert waits and [cell.value for cell in waits.cells] == [-35791.4, -0.3, -2147483, -1.0]
    assert all(cell.wrapped for cell in waits.cells)
    warned = [warning.text for warning in report.warnings]
    assert sum("did not fit" in text for text in warned) == 2
    assert sum("wrapped" in text for text in warned) == 4


def test_several_runs_in_one_file_are_several_reports() -> None:
    text = samples.report(samples.TRANSACTIONS)
    reports = parse_all(text + text.replace("PROD_DS", "TEST_DS"))
    assert [report.header.server for report in reports] == ["PROD_DS", "TEST_DS"]
    assert all(report.find("Transaction Profile", "Committed Xacts") for report in reports)


def test_sections_of_a_cluster_name_their_instance() -> None:
    instance = "\n".join([samples.RULE, "Instance Name:         ASE_2", samples.RULE, " "])
    report = parse(samples.report(samples.TRANSACTIONS, instance, samples.TRANSACTIONS))
    assert [section.instance for section in report.sections] == ["", "ASE_2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "1> select 1\n2> go\n 1\n",
        "total 12\n-rw-r--r-- 1 root root 7 a.txt\n",
        "Notes\n-----\n\nEngine 0    1.0  2.0\n",
    ],
)
def test_text_that_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(NotAReportError, match=r"note\.txt: not an sp_sysmon report"):
        parse(text, "note.txt")


def test_a_line_that_no_report_has_is_not_read_to_its_end() -> None:
    file = io.BytesIO(b"x" * (8 * MAX_LINE))
    buffered: io.BufferedReader = io.BufferedReader(file, MAX_LINE)
    with pytest.raises(OSError, match="a line has more than 64 KiB"):
        list(open_lines(buffered))
    assert file.tell() <= 2 * MAX_LINE


def test_a_file_without_a_report_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    monkeypatch.setattr(sysmon_report, "MAX_REPORT_LINES", 5_000)

    def lines() -> Iterator[str]:
        nonlocal read
        for _ in range(50_000):
            read += 1
            yield "a b c"

    with pytest.raises(NotAReportError):
        list(read_reports(lines()))
    assert read <= 5_001


@pytest.mark.parametrize("name", ["9_10", "0_900", "1,000", "7'000", "a b 3.0"])
def test_a_server_and_a_device_keep_their_names_where_they_look_like_numbers(name: str) -> None:
    text = simulated_report("16.0", 3).replace("    data_0 ", f"    {name:<7}", 1)
    report = parse(text.replace("PROD_3", name))
    assert report.find("Disk I/O Management", "Total I/Os", "Device Activity Detail", name)
    assert report.header.server == name and report.complete


@pytest.mark.parametrize(
    ("ended", "interval"),
    [
        ("Nov  3 2025  9:01:00:000AM", "60 s"),
        ("Nov  3 2025  9:01:00.000000AM", "60 s"),
        ("Nov  3 2025  9:01:00AM", "60s"),
        ("Nov  3 2025  9:01AM", "00:01:00"),
    ],
)
def test_the_server_s_own_style_of_dates_and_seconds_are_read(ended: str, interval: str) -> None:
    header = samples.HEADER.replace("Nov 03, 2025 09:01:00", ended).replace("00:01:00", interval, 1)
    read = parse(samples.report(samples.TRANSACTIONS, header=header)).header
    assert (read.ended, read.interval) == (datetime(2025, 11, 3, 9, 1), timedelta(minutes=1))


def test_recommendations_are_text_of_their_cache_and_no_figures() -> None:
    advice = [
        "    Tuning Recommendations for Data cache : log cache",
        "    -------------------------------------",
        "    - Consider decreasing the 'max SQL text monitored' parameter",
        "      to 1092 (i.e., half way from its current value to Maximum",
        "      SQL Text Requested).",
    ]
    cache = samples.cache("log cache", *advice)
    part = parse(samples.report(section("Data Cache Management", cache))).sections[0]
    assert [row.label for row in part.rows] == ["Spinlock Contention"]
    heading, _, *recommended = (line.strip() for line in advice)
    assert [each.text for each in part.advice] == [heading, *recommended]


def test_a_section_alone_is_read_and_is_not_complete() -> None:
    report = parse(samples.TRANSACTIONS + "\n")
    assert report.find("Transaction Profile", "Committed Xacts", "Transaction Summary")
    assert not report.complete and "the header" in report.missing


def test_the_process_kernel_gets_cpu_units_and_throughput() -> None:
    values = headline_values(parse(simulated_report("15.0.3", 1)))
    engines = values["engine_busy_ratio"]
    units = values["cpu_units"][()]
    assert units == pytest.approx(sum(value for labels, value in engines.items() if "cpu" in labels))
    commits = values["committed_transactions_per_second"][()]
    assert values["throughput_per_cpu_unit"][()] == pytest.approx(commits / units, rel=0.01)
