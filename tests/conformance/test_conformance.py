"""The conformance list, driven through tsql, the command-line client of FreeTDS: one process a batch."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance import cases
from tests.exporter.simulated import Simulated, run
from tests.planted import DATABASE
from tests.programs import eventually

# tsql says of an error: Msg 208 (severity 16, ...
ERROR = re.compile(r"^Msg (\d+)(?:, Level| \(severity) 1[1-9]", re.MULTILINE)
NULLS = ("NULL", "")


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04", "memscale") as simulated:
        yield simulated


@pytest.fixture
def environment(server: Simulated, tmp_path: Path) -> dict[str, str]:
    """The server is called SIMULATED."""
    host, port = server.address
    configuration = tmp_path / "freetds.conf"
    configuration.write_text(
        f"[SIMULATED]\nhost = {host}\nport = {port}\ntds version = 5.0\nclient charset = UTF-8\n"
    )
    return os.environ | {"FREETDSCONF": str(configuration), "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)}


def tsql(environment: dict[str, str], password: str = DATABASE) -> "subprocess.Popen[str]":
    """The program, before it is told what to do."""
    # Who runs the tests in the background may have Ctrl-C ignored, which a child would inherit.
    command = ["env", "--default-signal=INT", "tsql", "-S", "SIMULATED", "-U", "sa", "-P", password]
    return subprocess.Popen(
        [*command, "-o", "fhq"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def answered(environment: dict[str, str], sql: str) -> tuple[list[list[str]], str]:
    """The lines of what it prints for a batch, split into columns; and all that it says."""
    output, errors = tsql(environment).communicate(f"{sql}\ngo\n", timeout=60)
    return [line.split("\t") for line in output.splitlines()], f"{output}\n{errors}"


def last(rows: list[list[str]], width: int) -> list[str]:
    """The last row of that many columns: other lines are printed, too."""
    return [row for row in rows if len(row) == width][-1]


def test_login_with_a_wrong_password(environment: dict[str, str]) -> None:
    program = tsql(environment, "wrong")
    output, errors = program.communicate("select 1\ngo\n", timeout=60)
    assert program.returncode
    assert "Login failed" in output + errors


def test_values_of_all_types(environment: dict[str, str]) -> None:
    rows, said = answered(environment, cases.select_values(cases.TYPES))
    assert not ERROR.search(said)
    wrong = [
        (case.sql_type, shown)
        for case, shown in zip(cases.TYPES, last(rows, len(cases.TYPES)), strict=True)
        if not re.fullmatch(case.shown, shown)
    ]
    assert wrong == []


def test_null_of_all_types(environment: dict[str, str]) -> None:
    nullable = [case for case in cases.TYPES if case.type.name != "bit"]
    rows, _ = answered(environment, cases.select_nulls(nullable))
    shown = zip(nullable, last(rows, len(nullable)), strict=True)
    assert [case.sql_type for case, value in shown if value not in NULLS] == []


def test_an_error(environment: dict[str, str]) -> None:
    _, said = answered(environment, cases.MISSING_TABLE)
    assert ERROR.findall(said) == ["208"]
    assert "no_such_table not found" in said


def test_several_sets_and_a_message(environment: dict[str, str]) -> None:
    rows, said = answered(environment, cases.SEVERAL_SETS)
    assert [row for row in rows if len(row) == 2] == [["1", "one"], ["3", "three"], ["4", "four"]]
    assert "in between" in said and not ERROR.search(said)


def test_statements_without_rows_are_passed_over(environment: dict[str, str]) -> None:
    rows, _ = answered(environment, cases.COUNTED)
    assert [row for row in rows if row in (["6"], ["7"])] == [["6"], ["7"]]


def test_ctrl_c_ends_the_batch(environment: dict[str, str], server: Simulated) -> None:
    program = tsql(environment)
    assert program.stdin
    program.stdin.write(f"{cases.HANG}\ngo\n")
    program.stdin.flush()
    with server.login("sa") as query:

        def hanging() -> bool:
            return bool(query("select spid from master..sysprocesses where cmd = 'WAITFOR'"))

        eventually("a batch that hangs", hanging)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)
        eventually("its end", lambda: not hanging())


def test_a_big_result(environment: dict[str, str]) -> None:
    ((count,),) = (
        row for row in answered(environment, cases.BIG_COUNT)[0] if re.fullmatch(r"\d{5,}", row[0])
    )
    rows, _ = answered(environment, cases.BIG)
    assert len([row for row in rows if len(row) == 2 and row[0].isdigit()]) == int(count)
