"""Captures from pasted output of isql: invented texts, and a published one that lies outside the project."""

from datetime import datetime

import pytest
from tests.exporter.capture.isql import capture_of, guess, result_sets
from tests.paths import SHARED

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.capture.file import Capture, dump, lines, parse
from ase_exporter.capture.playback import NOT_RECORDED, Playback
from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.facts import SERVER
from ase_exporter.commands.target_check import TargetCheck
from ase_exporter.config import Auth, Config, Target

ENGINES = """\
1> select EngineNumber, Status, Connections, ContextSwitches, StartTime
2> from master..monEngine
3> go
 EngineNumber Status               Connections ContextSwitches StartTime
 ------------ -------------------- ----------- --------------- --------------------------
            0 online                        12      3000000001 Mar  1 2026  8:00AM
            1 offline                        0               5 NULL

(2 rows affected)
"""
WRAPPED = """\
 name                     number
\tdescription
 ------------------------ -----------
\t----------------------
 first                              1
\tone
 second                             2
\ttwo words
"""


def rows(taken: Capture, start: str) -> list[list[object]]:
    (found,) = [each for each in taken.statements if each.sql.startswith(start)]
    return [list(row) for row in found.rows]


def test_a_result_set_becomes_what_the_exporter_would_have_read() -> None:
    taken = capture_of(ENGINES, "16.0 SP04")
    assert rows(taken, "select EngineNumber, Status, Connections, ContextSwitches, StartTime") == [
        [0, "online", 12, 3000000001, datetime(2026, 3, 1, 8, 0)],
        [1, "offline", 0, 5, None],
    ]
    collectors = [each.sql for each in taken.statements if each.sql.endswith("from master..monEngine")]
    assert len(collectors) > 1
    assert Playback(taken).query(SERVER)[0][0] == "Adaptive Server Enterprise/16.0 SP04"
    assert dump(parse(list(lines(taken)), "x")) == dump(taken)


def test_rows_over_several_lines_are_put_together() -> None:
    (pasted,) = result_sets(WRAPPED)
    assert pasted.names == ["name", "number", "description"]
    assert pasted.cells == [["first", "1", "one"], ["second", "2", "two words"]]


def test_a_total_below_dashes_is_no_row() -> None:
    text = " name   size\n ------ ----\n first     1\n        ----\n         1\n"
    (pasted,) = result_sets(text)
    assert pasted.cells == [["first", "1"]]


def test_a_select_of_fewer_columns_is_answered() -> None:
    playback = Playback(capture_of(ENGINES, "16.0 SP04"))
    sql = "select EngineNumber, Connections from master..monEngine"
    assert playback.query(sql) == [(0, 12), (1, 0)]
    with pytest.raises(DatabaseError, match="not in the capture"):
        playback.query(f"{sql} where EngineNumber = 1")


@pytest.mark.parametrize(
    ("cells", "kind", "size"),
    [
        (["1", "NULL"], "int", 10),
        (["1", "3000000000"], "int", 19),
        (["99999999999999999999"], "Decimal", 20),
        (["1", "2.5"], "float", 53),
        (["#14", "2"], "str", 11),
        (["Mar  1 2026  8:00:01:123AM"], "datetime", 23),
        (["NULL"], "str", 11),
    ],
)
def test_types_are_guessed_from_all_values(cells: list[str], kind: str, size: int) -> None:
    column, values = guess("x", 11, cells)
    assert (column.type, column.size) == (kind, size)
    assert [value is None for value in values] == [cell == "NULL" for cell in cells]


def test_the_collectors_read_the_published_output_of_a_real_16_0() -> None:
    file = SHARED / "ase" / "real-mda-output-16.0sp04pl03-tpcc.txt"
    if not file.exists():
        pytest.skip("no ../shared/ase")
    taken = capture_of(file.read_text(encoding="utf-8", errors="replace"), "16.0 SP04 PL03")
    target = Target(name="pasted", host="pasted")
    config = Config(targets=(target,), auth={"default": Auth(user="pasted", password="")})
    checking = TargetCheck(
        config,
        target,
        load_catalogue()[0],
        everything=True,
        timeout=60,
        open_connection=Playback(taken).open,
    )
    report = checking.report()
    missing = {name for each in report.failures for name in each.collectors if NOT_RECORDED in each.message}
    assert [each for each in report.failures if NOT_RECORDED not in each.message] == []
    assert list(report.mismatches) == []
    assert report.executed - len(missing) > 5
    waits = rows(taken, "select WaitEventID, InstanceID, Waits, WaitTime")
    assert [215, 0, 2058226, 3919] in waits
    sums = [
        sum(int(str(row[i])) for row in rows(taken, "select SpinlockName, InstanceID, Grabs")) for i in (2, 3)
    ]
    assert min(sums) > 10_000_000
