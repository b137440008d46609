"""What reports look like in odd places, and that nothing of it is misread."""

import gzip
import io
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import UNDERLINE, row, section, table
from tests.exporter.sysmon.simulated import simulated_report

from ase_exporter.sysmon.report import MAX_REPORT_LINES, NotAReportError, parse, parse_all, read_reports
from ase_exporter.sysmon.text import decode, open_lines


def values(text: str, label: str, *path: str) -> dict[str, float]:
    """The cells of the one row of that label."""
    for part in parse(text).sections:
        found = part.row(label, *path)
        if found:
            return {cell.measure: cell.value for cell in found.cells}
    raise AssertionError(f"no row {label} under {path}")


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


def test_a_label_that_ends_in_a_number_keeps_it() -> None:
    text = samples.report(
        section("Disk I/O Management", table("Max Outstanding I/Os", row("    Engine 10", "n/a", "n/a", 403)))
    )
    assert values(text, "Engine 10") == {"count": 403}


def test_a_label_that_fills_its_column_is_told_from_its_first_figure() -> None:
    line = "  Amount of Time for Log Scans (ms)   17.5           0.2        1050       n/a"
    text = samples.report(
        section("Replication Agent", " Replication Agent: pubs2", table("Log Scan Summary", line))
    )
    assert values(text, "Amount of Time for Log Scans (ms)") == {
        "per_sec": 17.5,
        "per_xact": 0.2,
        "count": 1050,
    }


def test_figures_one_column_to_the_left_stay_in_their_columns() -> None:
    line = " Maximum SQL Text Requested          n/a           n/a         136       n/a"
    text = samples.report(section("Monitor Access to Executing SQL", line, "  (since beginning of sample)"))
    assert values(text, "Maximum SQL Text Requested (since beginning of sample)") == {"count": 136}


def test_a_row_with_a_tab_is_read_like_its_neighbours() -> None:
    body = samples.cache(
        "default data cache", "    Dirty Read Behavior", "\t" + row("  Page Requests", "0.5", "0.1", 30)[8:]
    )
    body = body.replace("\t", "\t  Page Requests               0.5           0.1          30       n/a\n#", 1)
    text = samples.report(section("Data Cache Management", body.split("#")[0]))
    assert values(text, "Page Requests", "Dirty Read Behavior") == {
        "per_sec": 0.5,
        "per_xact": 0.1,
        "count": 30,
    }


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


def test_labels_over_several_lines_and_figures_without_a_label() -> None:
    body = samples.cache(
        "default data cache",
        "    Large I/O Usage",
        row("      Large I/Os Performed", "40.8", "15.8", 2445, "8.5"),
        " ",
        "      Large I/Os Denied due to",
        row("        Pool < Prefetch Size", "14.8", "5.7", 888, "3.1"),
        "        Pages Requested",
        "        Reside in Another",
        row("        Buffer Pool", "421.1", "163.0", 25266, "88.3"),
        " ",
    )
    summary = ["  Cache Statistics Summary (All Caches)", "    Large I/O Usage", row("", "1.0", "2.0", 60)]
    text = samples.report(section("Data Cache Management", *summary, body))
    denied = values(text, "Pages Requested Reside in Another Buffer Pool", "Large I/Os Denied due to")
    assert denied["count"] == 25266
    assert values(text, "Large I/O Usage")["count"] == 60


def test_a_percentage_without_its_sign_and_a_sign_without_its_percentage() -> None:
    first_line = "  Fully Logged DMLs               17417.7          14.0      783795       100.0"
    nv = [
        "  Cache Statistics Summary (All NV Caches)",
        "    Cache Search Summary",
        "      Total Cache Hits     %",
    ]
    report = parse(
        samples.report(
            section("Transaction Management", table("ULC Log Records", first_line)),
            section("NV Cache Management", *nv),
        )
    )
    first = report.find("Transaction Management", "Fully Logged DMLs")
    second = report.find("NV Cache Management", "Total Cache Hits")
    assert first and first.get("percent_of_total") == 100.0
    assert second and second.cells == ()


@pytest.mark.parametrize("name", ["a cache of thirty characters 12", "x", "100.0 n/a", "ends in  5.0 %"])
def test_names_of_caches_may_hold_anything(name: str) -> None:
    text = samples.report(section("Data Cache Management", samples.cache(name, contention="51.2 %")))
    assert values(text, "Spinlock Contention", f"Cache: {name}") == {"percent_of_total": 51.2}


def test_a_device_is_known_by_its_logical_name_whatever_its_path() -> None:
    lines = [
        "  Device Activity Detail",
        "  ----------------------",
        " ",
        "  Device:",
        "    /dev/disk by id/disk 7 12",
        "    a device of thirty characters12 per sec      per xact       count  % of total",
        UNDERLINE,
        "    Reads",
        row("      Non-APF", "0.1", "0.0", 3, "0.2"),
        row("    Writes", "37.1", "0.0", 1669, "99.8"),
        UNDERLINE,
        row("  Total I/Os", "37.2", "0.0", 1672, "8.1"),
    ]
    text = samples.report(section("Disk I/O Management", *lines))
    device = ("Device Activity Detail", "a device of thirty characters12")
    assert values(text, "Non-APF", *device, "Reads")["count"] == 3
    assert values(text, "Total I/Os", *device)["count"] == 1672


def test_engines_of_the_process_kernel_and_its_settings() -> None:
    text = samples.report(
        section(
            "Kernel Utilization",
            "  Your Runnable Process Search Count is set to 2000",
            "  and I/O Polling Process Count is set to 10",
            " ",
            "  Engine Busy Utilization        CPU Busy   I/O Busy       Idle",
            "  ------------------------       --------   --------   --------",
            "    Engine 0                        2.5 %     46.3 %     51.2 %",
            "  ------------------------       --------   --------   --------",
            "  Summary           Total           2.5 %     46.3 %     51.2 %",
            "                  Average           2.5 %     46.3 %     51.2 %",
        )
    )
    assert values(text, "Engine 0") == {"cpu_busy": 2.5, "io_busy": 46.3, "idle": 51.2}
    assert values(text, "Summary Average", "Engine Busy Utilization")["idle"] == 51.2
    assert values(text, "Your Runnable Process Search Count") == {"value": 2000}


def test_engines_of_12_5_with_one_percentage() -> None:
    text = samples.report(
        section(
            "Kernel Utilization",
            "  Engine Busy Utilization:",
            "    Engine 0                       98.4 %",
            "    Engine 1                       57.4 %",
            "  -----------------------   ---------------   ----------------",
            "  Summary:      Total:     155.8 %  Average:    77.9 %",
        )
    )
    assert values(text, "Engine 0", "Engine Busy Utilization") == {"percent": 98.4}
    assert values(text, "Summary:") == {"total": 155.8, "average": 77.9}


def test_percentages_without_titles_each_keep_a_name_of_their_own() -> None:
    body = "    Engine 0                            0.2 %         1.5 %      98.3 %"
    text = samples.report(section("Kernel Utilization", "  Engine Busy Utilization", body))
    assert list(values(text, "Engine 0").values()) == [0.2, 1.5, 98.3]


def test_figures_of_an_unknown_table_are_unplaced() -> None:
    lines = [
        "  Row Storage Caches          Rows In     Rows Out    Rows Held",
        "  -------------------------  ----------  ----------  ----------",
        "    orders                          17           4          13",
    ]
    report = parse(samples.report(section("In-Memory Row Storage", *lines)))
    assert not report.complete and report.lost == 3
    assert [remark.text for remark in report.unplaced] == ["no known row: orders 17 4 13"]


def test_text_with_its_blanks_squeezed_is_read_by_the_order_of_its_figures() -> None:
    whole = samples.report(
        samples.TRANSACTIONS, section("Memory Management", row("  Pages Allocated", "0.6", "3.5", 70))
    )
    squeezed = "\n".join(" ".join(line.split()) for line in whole.splitlines())
    assert values(squeezed, "Pages Allocated") == {"per_sec": 0.6, "per_xact": 3.5, "count": 70}


def test_server_errors_inside_the_text_are_kept_apart_from_figures() -> None:
    broken = "\n".join(
        [
            "Msg 11039, Level 16, State 1:",
            "Server 'PROD_DS', Procedure 'sp_sysmon_locks', Line 77:",
            "Execution of procedure 3 failed.",
            "(0 rows affected)",
        ]
    )
    report = parse(samples.report(section("Lock Management", broken), samples.TRANSACTIONS))
    assert [(message.number, message.level, message.text) for message in report.messages] == [
        (11039, 16, "Execution of procedure 3 failed.")
    ]
    assert report.find("Transaction Profile", "Committed Xacts")
    assert report.ended and not report.complete
    assert "section Lock Management" not in report.missing


def test_a_report_that_stopped_says_so() -> None:
    report = parse(samples.report(samples.TRANSACTIONS, end="(return status = -6)"))
    assert not report.complete and report.return_status == -6
    assert "stops at an error (return status -6)" in report.warnings[-1].text


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n".join(line.rstrip() for line in text.split("\n")),
        lambda text: "1> 2> " + text,
        lambda text: "\n".join(f"\t{line}\t" for line in text.split("\n")),
        lambda text: "DBCC execution completed. If DBCC printed error messages, contact a user.\n" * 2 + text,
        lambda text: text + "(return status = 0)\n",
    ],
    ids=["crlf", "stripped", "prompts", "margin", "dbcc", "status"],
)
def test_what_clients_do_to_a_report_changes_no_figure(damage: object) -> None:
    text = samples.report(section("Kernel Utilization", samples.ENGINES), samples.TRANSACTIONS)
    assert callable(damage)
    plain = [
        (section.name, row.path, row.label, cell.measure, cell.value)
        for section, row, cell in parse(text).cells()
    ]
    read = parse(damage(text))
    assert [
        (section.name, row.path, row.label, cell.measure, cell.value) for section, row, cell in read.cells()
    ] == plain
    assert len(plain) == 4 * 6 + 2 + 2


def test_a_file_of_powershell_is_read_by_its_byte_order_mark() -> None:
    text = samples.report(samples.TRANSACTIONS)
    assert parse(decode(text.encode("utf-16"))).ended
    assert parse(decode(text.encode("latin-1"))).ended


def test_what_stands_around_a_report_is_no_part_of_it() -> None:
    around = "Throughput\n----------\n\n 8 connections    12291.542\n\n"
    report = parse(around + samples.report(samples.TRANSACTIONS) + around)
    assert [section.name for section in report.sections] == ["Transaction Profile"]


def test_a_section_without_its_header_is_read() -> None:
    assert [section.name for section in parse(samples.TRANSACTIONS).sections] == ["Transaction Profile"]


def test_several_runs_in_one_file_are_several_reports() -> None:
    text = samples.report(samples.TRANSACTIONS)
    reports = parse_all(text + text.replace("PROD_DS", "TEST_DS"))
    assert [report.header.server for report in reports] == ["PROD_DS", "TEST_DS"]
    assert all(report.find("Transaction Profile", "Committed Xacts") for report in reports)


def test_recommendations_are_text_and_no_figures() -> None:
    advice = "\n".join(
        [
            " Tuning Recommendations for Monitor Access to Executing SQL",
            " ----------------------------------------------------------",
            " - Consider decreasing the 'max SQL text monitored' parameter",
            "   to 1092 (i.e., half way from its current value to Maximum",
            "   SQL Text Requested).",
        ]
    )
    part = parse(samples.report(section("Monitor Access to Executing SQL", advice))).sections[0]
    assert part.rows == []
    assert "to 1092 (i.e." in part.recommendations[0].text


def test_sections_of_a_cluster_name_their_instance() -> None:
    instance = "\n".join([samples.RULE, "Instance Name:         ASE_2", samples.RULE, " "])
    report = parse(samples.report(samples.TRANSACTIONS, instance, samples.TRANSACTIONS))
    assert [section.instance for section in report.sections] == ["", "ASE_2"]


def test_bucket_pools_are_told_apart_by_their_size() -> None:
    text = samples.report(
        section(
            "Bucketpool Activity",
            "  Bucketpool Name             BucketSize   Allocs     Frees    Found empty",
            "  -------------------------  ----------- ---------- ---------- ----------",
            "  LFB memory pool                   32          1          2          3",
            "  LFB memory pool                   64          4          5          6",
        )
    )
    assert values(text, "LFB memory pool 64") == {
        "bucket_size": 64,
        "allocs": 4,
        "frees": 5,
        "found_empty": 6,
    }


def test_the_cache_wizard_is_read_with_its_units() -> None:
    report = parse(samples.WIZARD)
    wizard = report.sections[0]
    summary = [row for row in wizard.rows if row.label == "Summary"]
    assert [row.path for row in summary] == [("default data cache",)] * 3
    assert [cell.measure for cell in summary[0].cells] == ["run_size_mb", "usage_percent"]
    assert summary[2].get("spinlock_contention_percent") == 0.25
    pool = wizard.row("2 Kb", "default data cache", "Buffer Pool Information")
    assert pool and (pool.get("wash_size_kb"), pool.get("run_size_mb"), pool.get("usage_percent")) == (
        17200,
        84,
        3.37,
    )
    item = wizard.row("shop.dbo.orders 2024", "default data cache", "Object Statistics")
    assert item and item.get("hit_percent") == 47.37
    assert wizard.recommendations[0].text == "Usage% for 'default data cache' is low (< 5%)"


@pytest.mark.parametrize("lines", [4, 9, 15, 20, 24, 100])
def test_a_wizard_without_its_last_part_is_cut(lines: int) -> None:
    wizard = "\n".join(samples.WIZARD.split("\n")[:lines])
    report = parse(f"{samples.report(samples.TRANSACTIONS)}{wizard}\n")
    assert ("the LEGEND of the Cache Wizard" in report.missing) == (lines < 100)


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


def test_a_gzip_bomb_is_not_unpacked_to_its_end() -> None:
    bomb = io.BytesIO(gzip.compress(bytes(40 << 20)))
    with pytest.raises(OSError, match="unpacks to more than"):
        for _ in open_lines(bomb):
            pass


def test_a_file_without_a_report_is_not_read_to_its_end() -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for _ in range(10 * MAX_REPORT_LINES):
            read += 1
            yield "a b c"

    with pytest.raises(NotAReportError):
        list(read_reports(lines()))
    assert read <= MAX_REPORT_LINES + 1


@pytest.mark.parametrize(("ended", "late"), [("09:01:30", True), ("09:01:00", False)])
def test_a_sample_that_took_longer_than_was_asked_for_is_no_contradiction(ended: str, late: bool) -> None:
    """Figures of 90 seconds, an interval of 60: the times of the header say whether the wait ended late."""
    header = samples.HEADER.replace(
        "Sampling Ended at:     Nov 03, 2025 09:01:00", f"Sampling Ended at:     Nov 03, 2025 {ended}"
    )
    text = samples.report(samples.TRANSACTIONS.replace(" 72000", "108000"), header=header)
    report = parse(text)
    told = "the figures are of 90.0 seconds, the header is of 60"
    assert [remark.text for remark in report.contradictions] == ([] if late else [told])
    longer = f"{told}: the sample took longer than was asked for"
    assert [remark.text for remark in report.warnings] == ([longer] if late else [])


def test_a_cache_keeps_its_name_where_it_looks_like_a_number() -> None:
    text = samples.report(section("Data Cache Management", samples.cache("a 9_100 b 1,234")))
    assert values(text, "Spinlock Contention", "Cache: a 9_100 b 1,234") == {"percent_of_total": 1.5}


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
