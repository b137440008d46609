"""`ase-exporter sysmon` as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Ended, Run
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.simulated import simulated_report

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
def whole() -> str:
    return simulated_report("16.0", 3)


@pytest.fixture
def saved(tmp_path: Path, whole: str) -> Path:
    path = tmp_path / "before.txt"
    path.write_text(whole)
    return path


def test_each_form_has_every_figure(sysmon: Sysmon, saved: Path, whole: str) -> None:
    document = json.loads(sysmon("parse", saved, "--format", "json").stdout)
    assert document["header"]["server"] == "PROD_3" and document["complete"]
    rows = {(*row["path"], row["row"]): row for part in document["sections"] for row in part["rows"]}
    commits = rows["Transaction Summary", "Committed Xacts"]
    assert set(commits["cells"]) == {"per_sec", "count"}
    assert whole.splitlines()[commits["line"] - 1].split()[:2] == ["Committed", "Xacts"]
    table = sysmon("parse", saved).stdout
    assert "Transaction Summary / Committed Xacts" in table and f"{commits['cells']['count']:.0f}" in table


def test_a_report_that_is_not_complete_is_printed_named_and_an_exit_code(sysmon: Sysmon, saved: Path) -> None:
    cut = saved.with_name("cut.txt")
    cut.write_text(samples.report(samples.TRANSACTIONS))
    ended = sysmon("parse", cut, code=2)
    assert "Committed Xacts" in ended.stdout
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"ase-exporter: {cut}: NOT COMPLETE: missing: section Kernel Utilization")
    assert "the report after is not complete" in sysmon("diff", saved, cut, code=2).stdout


def test_of_several_files_the_others_are_read_where_one_is_no_report(sysmon: Sysmon, saved: Path) -> None:
    note = saved.with_name("note.txt")
    note.write_bytes(b"\x00\xffnothing of the kind\n" * 50)
    ended = sysmon("parse", note, saved, "--format", "json", code=2)
    assert json.loads(ended.stdout)["header"]["server"] == "PROD_3"
    assert ended.stderr.count("\n") == 1 and f"{note}: not an sp_sysmon report" in ended.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("", "not an sp_sysmon report"),
        ("nothing of the kind\n", "not an sp_sysmon report"),
        ("two", "expected one report, found more"),
    ],
    ids=["missing", "empty", "no report", "two reports"],
)
def test_what_cannot_be_compared_is_one_line(
    sysmon: Sysmon, saved: Path, whole: str, text: str | None, said: str
) -> None:
    other = saved.with_name("other.txt")
    if text is not None:
        other.write_text(f"{whole}\n{whole}\n" if text == "two" else text)
    for pair in ((other, saved), (saved, other)):
        ended = sysmon("diff", *pair, code=2)
        assert ended.stdout == "" and ended.stderr.count("\n") == 1 and f"{other}: {said}" in ended.stderr
