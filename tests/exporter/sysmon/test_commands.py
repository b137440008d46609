"""`ase-exporter sysmon` as a user runs it."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path

import pytest
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.samples import section

from ase_exporter import cli

TEXT = samples.report(section("Kernel Utilization", samples.ENGINES), samples.TRANSACTIONS)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of the command line."""
    monkeypatch.setattr("sys.argv", ["ase-exporter", "sysmon", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return int(stopped.value.code or 0)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "before.txt"
    path.write_text(TEXT)
    return path


def test_a_file_that_is_no_report_gets_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_bytes(b"\x00\xffnothing of the kind\n" * 50)
    assert run(monkeypatch, "parse", str(note)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "not an sp_sysmon report" in err


def test_a_file_that_is_not_there_gets_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "parse", "nowhere.txt") == 2
    assert capsys.readouterr().err == "ase-exporter: nowhere.txt: cannot be read: No such file or directory\n"


def test_json_holds_every_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    assert run(monkeypatch, "parse", str(saved), "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["header"]["server"] == "PROD_DS"
    rows = {row["row"]: row for section in document["sections"] for row in section["rows"]}
    assert rows["Engine 1"]["cells"] == {"user_busy": 40.0, "system_busy": 3.0, "io_busy": 1.0, "idle": 56.0}
    assert rows["Engine 1"]["path"] == ["Engine Utilization (Tick %)", "ThreadPool : syb_default_pool"]


def test_csv_has_one_line_per_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    assert run(monkeypatch, "parse", str(saved), "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 28
    assert (
        rows[-1]["row"] == "Committed Xacts"
        and rows[-1]["measure"] == "count"
        and rows[-1]["value"] == "72000.0"
    )


def test_metrics_and_cells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    assert run(monkeypatch, "parse", str(saved), "--format", "metrics", "--cells", "xactsum") == 0
    out = capsys.readouterr().out
    assert 'ase_sysmon_server_busy_ratio{state="user"} 0.5\n' in out
    assert out.count("ase_sysmon_cell{") == 2


def test_an_unknown_section_gets_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    assert run(monkeypatch, "parse", str(saved), "--cells", "lock") == 2
    assert "section 'lock': expected all or one of kernel, " in capsys.readouterr().err


def test_the_table_shows_every_figure_uncut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    assert run(monkeypatch, "parse", str(saved)) == 0
    out = capsys.readouterr().out
    assert "Transaction Summary / Committed Xacts" in out and "72000" in out and "1090.9" in out


def test_diff_puts_the_biggest_change_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path, tmp_path: Path
) -> None:
    after = tmp_path / "after.txt"
    after.write_text(
        TEXT.replace("1200.0", "3000.0").replace("units.", "units.").replace(" 60.0 %", " 64.0 %")
    )
    assert run(monkeypatch, "diff", str(saved), str(after), "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [change["name"].split(" / ")[-1] for change in found] == ["Committed Xacts", "Engine 0"]
    assert (found[0]["before"], found[0]["after"]) == (1200.0, 3000.0)
    assert run(monkeypatch, "diff", str(saved), str(after)) == 0
    out = capsys.readouterr().out
    assert "+150.0%" in out and "+4.0 points" in out and out.index("+150.0%") < out.index("+4.0 points")


def test_saved_reports_become_a_history_with_their_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later.txt"
    later.write_text(TEXT.replace("Nov 03, 2025", "Nov 04, 2025"))
    # The later one first, and one of them twice.
    assert run(monkeypatch, "history", str(later), str(saved), str(later), "--label", "job=ase") == 0
    lines = capsys.readouterr().out.splitlines()
    ends = [datetime(2025, 11, day, 9, 1).timestamp() for day in (3, 4)]
    series = 'ase_sysmon_server_busy_ratio{instance="PROD_DS",job="ase",state="user"}'
    assert [line for line in lines if line.startswith(series)] == [f"{series} 0.5 {end}" for end in ends]
    assert lines[-1] == "# EOF"
    assert not [line for line in lines if "sample_age" in line]


def test_a_history_takes_labels_as_name_and_value_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    assert run(monkeypatch, "history", str(saved), "--label", "PROD") == 2
    assert capsys.readouterr().err == "ase-exporter: --label: PROD: expected NAME=VALUE\n"
