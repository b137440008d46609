"""`ase-exporter sysmon` as a user runs it."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.exporter.commands.command_line import Ended, Run
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import section
from tests.exporter.sysmon.simulated import simulated_report

TEXT = samples.report(section("Kernel Utilization", samples.ENGINES), samples.TRANSACTIONS)


Sysmon = Callable[..., Ended]


@pytest.fixture
def sysmon(run: Run) -> Sysmon:
    """A function that runs a command of sysmon, which ends with that exit code."""

    def command(*arguments: object, code: int = 0) -> Ended:
        ended = run("sysmon", *map(str, arguments))
        assert ended.returncode == code, ended.stderr
        return ended

    return command


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "before.txt"
    path.write_text(TEXT)
    return path


def test_a_file_that_is_no_report_gets_one_line_and_exit_code_2(sysmon: Sysmon, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_bytes(b"\x00\xffnothing of the kind\n" * 50)
    ended = sysmon("parse", note, code=2)
    out, err = ended.stdout, ended.stderr
    assert out == "" and err.count("\n") == 1 and "not an sp_sysmon report" in err


def test_each_form_has_every_figure(sysmon: Sysmon, saved: Path) -> None:
    document = json.loads(sysmon("parse", saved, "--format", "json").stdout)
    assert document["header"]["server"] == "PROD_DS"
    rows = {row["row"]: row for section in document["sections"] for row in section["rows"]}
    assert rows["Engine 1"]["cells"] == {"user_busy": 40.0, "system_busy": 3.0, "io_busy": 1.0, "idle": 56.0}
    assert rows["Engine 1"]["path"] == ["Engine Utilization (Tick %)", "ThreadPool : syb_default_pool"]
    *_, last = lines = list(csv.DictReader(io.StringIO(sysmon("parse", saved, "--format", "csv").stdout)))
    assert len(lines) == 28
    assert (last["row"], last["measure"], last["value"]) == ("Committed Xacts", "count", "72000.0")
    out = sysmon("parse", saved, "--format", "metrics", "--cells", "xactsum").stdout
    assert 'ase_sysmon_server_busy_ratio{state="user"} 0.5\n' in out
    assert out.count("ase_sysmon_cell{") == 2
    table = sysmon("parse", saved).stdout
    assert "Transaction Summary / Committed Xacts" in table and "72000" in table and "1090.9" in table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two reports, one of them gzipped, and a file that is none."""
    path = tmp_path / "reports"
    (path / "2025").mkdir(parents=True)
    (path / "2025" / "a.txt").write_text(TEXT)
    (path / "2025" / "b.txt.gz").write_bytes(gzip.compress(TEXT.replace("Nov 03", "Nov 04").encode()))
    (path / "note.txt").write_text("nothing of the kind\n")
    return path


def test_a_folder_is_read_with_bad_files_skipped_listed_and_counted(sysmon: Sysmon, folder: Path) -> None:
    ended = sysmon("parse", folder, "--format", "csv", code=1)
    out, err = ended.stdout, ended.stderr
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 2 * 28
    assert {(Path(row["file"]).name, row["server"], row["time"]) for row in rows} == {
        ("a.txt", "PROD_DS", "2025-11-03 09:01:00"),
        ("b.txt.gz", "PROD_DS", "2025-11-04 09:01:00"),
    }
    assert f"{folder / 'note.txt'}: skipped: not an sp_sysmon report" in err
    assert "1 of 3 files skipped" in err


def test_metrics_of_several_reports_have_their_help_once_and_a_source_in_each_series(
    sysmon: Sysmon, folder: Path
) -> None:
    out = sysmon("parse", folder / "2025" / "*", "--format", "metrics").stdout
    assert out.count("# HELP ase_sysmon_cpu_units ") == 1
    series = [line.rpartition(" ")[0] for line in out.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))
    assert list(text_string_to_metric_families(out))


def test_several_runs_are_compared_as_a_series(sysmon: Sysmon, tmp_path: Path) -> None:
    runs = tmp_path / "runs.txt"
    runs.write_text("".join(TEXT.replace("1200.0", rate) for rate in ("1000.0", "1200.0", "1400.0")))
    found = json.loads(sysmon("diff", runs, "--format", "json").stdout)["reports"]
    assert len(found) == 3 and found[0]["headlines"]["CPU busy"] == 54.0


def test_two_folders_are_compared_by_the_means_of_their_runs(sysmon: Sysmon, tmp_path: Path) -> None:
    """60 % user busy varies by 2 points from run to run, 40 % by none: only the second has changed."""
    for side, runs, engine_1 in (("before", (58, 60, 62), 40), ("after", (59, 61, 63), 45)):
        (tmp_path / side).mkdir()
        for number, busy in enumerate(runs):
            text = TEXT.replace(" 60.0 %", f" {busy}.0 %")
            text = text.replace(" 40.0 %         3", f" {engine_1}.0 %         3")
            (tmp_path / side / f"{number}.txt").write_text(text)
    folders = [tmp_path / side for side in ("before", "after")]
    found = json.loads(sysmon("diff", *folders, "--format", "json").stdout)["changes"]
    assert [(change["name"].split(" / ")[-1], change["before"], change["after"]) for change in found] == [
        ("Engine 1", 40.0, 45.0)
    ]
    assert "1 of 1 changed figures beyond the noise of the runs" in sysmon("diff", *folders).stdout


def test_diff_says_first_what_is_better_or_worse_and_keeps_configuration_apart(
    sysmon: Sysmon, tmp_path: Path
) -> None:
    for name, contention, cache in (("before", "1.5 %", "orders cache"), ("after", "45.0 %", "log cache")):
        caches = [samples.cache("default data cache", contention=contention), samples.cache(cache)]
        text = samples.report(samples.TRANSACTIONS, section("Data Cache Management", *caches))
        (tmp_path / f"{name}.txt").write_text(text)
    names = [tmp_path / f"{name}.txt" for name in ("before", "after")]
    found = json.loads(sysmon("diff", *names, "--format", "json").stdout)
    assert found["findings"] == ["worse: Spinlock contention, default data cache 1.5 % -> 45 %"]
    assert found["configuration"] == [
        "caches: only before: Cache: orders cache; only after: Cache: log cache"
    ]
    assert [change["name"] for change in found["changes"]] == [
        "Cache: default data cache / Spinlock Contention"
    ]
    out = sysmon("diff", *names).stdout
    assert out.index("Findings") < out.index("Headline") < out.index("Configuration") < out.index("Section")


@pytest.mark.parametrize(
    "command", [("parse",), ("history",), ("diff", "{}"), ("report", "--output", "{}.html")]
)
def test_a_report_that_is_not_complete_is_an_exit_code_where_asked_for(
    sysmon: Sysmon, saved: Path, command: tuple[str, ...]
) -> None:
    later = saved.with_name("later.txt")
    later.write_text(TEXT.replace("Nov 03, 2025", "Nov 04, 2025"))
    arguments = [text.format(later) for text in command]
    sysmon(*arguments, saved)
    sysmon(*arguments, saved, "--strict", code=1)


def test_history_says_how_much_of_each_report_is_proved(sysmon: Sysmon, saved: Path) -> None:
    saved.write_text(
        TEXT.replace("Engine 0                        60.0 %", "Engine 0                        90.0 %")
    )
    out = sysmon("history", saved).stdout
    figures = dict(
        re.findall(r'ase_sysmon_sample_figures{instance="PROD_DS",quality="(\w+)"} ([\d.]+) ', out)
    )
    assert sum(map(float, figures.values())) == 28 and float(figures["contradicted"]) >= 4
    assert 'ase_sysmon_sample_complete{instance="PROD_DS"} 0.0 ' in out


def test_one_report_cannot_be_compared(sysmon: Sysmon, saved: Path) -> None:
    told, refused = sysmon("diff", saved, code=2).stderr.splitlines()
    assert "NOT COMPLETE" in told
    assert refused == "ase-exporter: sysmon diff: expected two reports or more, found 1"


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_page_loads_nothing_and_shows_the_headlines(sysmon: Sysmon, tmp_path: Path, count: int) -> None:
    for number in range(count):
        (tmp_path / f"{number}.txt").write_text(simulated_report("16.0", number))
    page = tmp_path / "page.html"
    sysmon("report", str(tmp_path / "*.txt"), "--output", page)
    text = page.read_text()
    assert "<svg" in text and "Committed transactions" in text
    assert not re.search(r"(?:src|href)=", text)
    assert (">change</th>" in text) == (count == 2) and ("<polyline" in text) == (count > 2)


def test_diff_puts_the_biggest_change_first(sysmon: Sysmon, saved: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.txt"
    after.write_text(TEXT.replace("1200.0", "3000.0").replace(" 60.0 %", " 64.0 %"))
    found = json.loads(sysmon("diff", saved, after, "--format", "json").stdout)["changes"]
    assert [change["name"].split(" / ")[-1] for change in found] == ["Committed Xacts", "Engine 0"]
    assert (found[0]["before"], found[0]["after"]) == (1200.0, 3000.0)
    out = sysmon("diff", saved, after).stdout
    assert "+150.0%" in out and "+4.0 points" in out and out.index("+150.0%") < out.index("+4.0 points")


def test_saved_reports_become_a_history_with_their_times(sysmon: Sysmon, saved: Path, tmp_path: Path) -> None:
    later = tmp_path / "later.txt"
    later.write_text(TEXT.replace("Nov 03, 2025", "Nov 04, 2025"))
    # The later one first, and one of them twice.
    lines = sysmon("history", later, saved, later, "--label", "job=ase").stdout.splitlines()
    ends = [datetime(2025, 11, day, 9, 1).timestamp() for day in (3, 4)]
    series = 'ase_sysmon_server_busy_ratio{instance="PROD_DS",job="ase",state="user"}'
    assert [line for line in lines if line.startswith(series)] == [f"{series} 0.5 {end}" for end in ends]
    assert lines[-1] == "# EOF"
    assert not [line for line in lines if "sample_age" in line]
