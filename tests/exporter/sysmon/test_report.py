"""What reports look like in odd places, and that nothing of it is misread."""

import gzip
import io
import re
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
from ase_exporter.sysmon.metrics import headline_values
from ase_exporter.sysmon.report import NotAReportError, parse, read_reports
from ase_exporter.sysmon.text import open_lines

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
        kind: [remark.text for remark in getattr(report, kind)]
        for kind in ("warnings", "unplaced", "contradictions")
    }
    said["messages"] = [[each.number, each.level, each.procedure, each.text] for each in report.messages]
    said |= {"lost": report.lost, "return_status": report.return_status}
    assert {kind: said[kind] for kind in said.keys() & case.keys()} == {
        kind: case[kind] for kind in said.keys() & case.keys()
    }
    assert case.get("missing") in (None, *report.missing) and case.get("present") not in report.missing
    assert report.find("Transaction Profile", "Committed Xacts") and not report.complete


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


def test_what_stands_around_a_report_is_no_part_of_it() -> None:
    around = "Throughput\n----------\n\n 8 connections    12291.542\n\n"
    report = parse(around + samples.report(samples.TRANSACTIONS) + around)
    assert [section.name for section in report.sections] == ["Transaction Profile"]


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


@pytest.mark.parametrize("seekable", [True, False], ids=["file", "pipe"])
def test_a_gzip_bomb_is_not_unpacked_to_its_end(seekable: bool) -> None:
    class Packed(io.BytesIO):
        def seekable(self) -> bool:
            return seekable

    bomb = Packed(gzip.compress(b"a short line\n" * (4 << 20)))
    with pytest.raises(OSError, match="unpacks to more than"):
        for _ in open_lines(bomb):
            pass


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


def test_a_server_keeps_its_name_where_it_looks_like_a_number() -> None:
    header = samples.HEADER.replace("PROD_DS", "0_900")
    [report] = parse_all(samples.report(section("Data Cache Management", samples.cache("a")), header=header))
    assert report.header.server == "0_900"


@pytest.mark.parametrize("name", ["9_10", "0_900", "1,000", "7'000"])
def test_a_device_keeps_its_name_where_it_looks_like_a_number(name: str) -> None:
    text = re.sub(r"data_0\b( {0,6})", name.ljust(6), simulated_report("16.0", 3))
    [report] = parse_all(text)
    assert report.find("Disk I/O Management", "Writes", "Device Activity Detail", name)
    assert report.complete


def test_a_total_above_0_has_its_parts() -> None:
    text = simulated_report("16.0", 3)
    [line] = re.findall(r"\n *Total Timeouts.*", text)
    [report] = parse_all(text.replace(line, line.replace("0.0 ", "0.1 ", 1).replace("  0 ", "  6 ")))
    assert report.missing == ["parts of Lock Management / Lock Timeouts by Lock Type / Total Timeouts"]


def test_a_figure_cut_in_the_middle_is_left_out() -> None:
    text = samples.report(samples.TRANSACTIONS)
    cut = text[: text.index("72000") + 2]
    report = parse(cut)
    assert not list(report.cells()) and not report.complete
    assert "cut in the middle" in report.unplaced[0].text


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
    assert part.recommendations[0].about == "log cache"
    assert "to 1092 (i.e." in part.recommendations[0].text


@pytest.mark.parametrize(
    "text",
    [samples.TRANSACTIONS, table("Transaction Summary", row("    Committed Xacts", "10.0", "n/a", 600))],
    ids=["a section", "a table"],
)
def test_an_excerpt_is_read_and_is_not_complete(text: str) -> None:
    report = parse(text + "\n")
    assert report.find("Transaction Profile", "Committed Xacts", "Transaction Summary")
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
