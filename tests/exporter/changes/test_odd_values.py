"""An odd value in a configuration table costs one field: no snapshot, no other part, and no other row."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.changes import detect
from ase_exporter.changes.detect import ConfigWatcher
from ase_exporter.changes.snapshot import Part, decode

ODD: Sequence[object] = (
    None,
    "",
    "2K",
    "\u0664",
    "9" * 5000,
    b"\xff",
    True,
    -1,
    10**400,
    float("nan"),
    float("inf"),
    Decimal("sNaN"),
    datetime(2026, 1, 2),
    object(),
)
# A good answer to each statement: two rows, where a server has several.
ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    detect.OPTIONS: [("max memory", 1, None, 1, None), ("number of locks", 2, None, 2, None)],
    detect.CACHES: [(name, "Mixed", 8, 8, "strict", "strict", 1, 1) for name in ("one", "two")],
    detect.POOLS: [(name, size, 8, 8, 1, 10) for name in ("one", "two") for size in (2, 4, 16)],
    detect.MON_CACHES: [(name, "Mixed", 8, "strict", 1) for name in ("one", "two")],
    detect.MON_POOLS: [(name, size, 8, 1, 10) for name in ("one", "two") for size in (2048, 4096, 16384)],
    detect.OLD_CACHES: [(name, 0, 1) for name in ("one", "two")],
    detect.OLD_POOLS: [(name, size, 8) for name in ("one", "two") for size in (2048, 4096, 16384)],
    detect.ENGINES: [(0, "online"), (1, "online")],
    detect.MON_ENGINES: [(0, "online"), (1, "online")],
    detect.THREAD_POOLS: [("one", "Engine", 4), ("two", "RTC", 1)],
    detect.DATABASES: [("orders", 8, 0, 0), ("master", 0, 0, 0)],
    detect.OPTION_BITS: [("D", 8, "trunc log on chkpt"), ("D2", 1, "abort tran on log full")],
    detect.VERSION: [("ASE 16",)],
    detect.BOOT: [(datetime(2026, 1, 1), 60)],
    detect.CLEARED: [(datetime(2026, 1, 1), 60)],
    detect.ENTERABLE: [],
    detect.DATABASE_BINDINGS: [("orders", "one"), ("master", "two")],
}
EVENT = ("set switch", "1", "", "0", "1", "sa", datetime(2026, 1, 1), 1000)
# Those of which a server has none where it has what stands before them.
IN_PLACE_OF = {
    detect.MON_CACHES: [detect.CACHES],
    detect.MON_POOLS: [detect.CACHES],
    detect.OLD_CACHES: [detect.CACHES, detect.MON_CACHES],
    detect.OLD_POOLS: [detect.CACHES, detect.MON_CACHES],
    detect.MON_ENGINES: [detect.ENGINES],
}


def snapshot(sql: str, rows: Sequence[Sequence[Any]]) -> dict[str, Part]:
    """The parts of a snapshot of a server that answers one statement so. Raises what the exporter would raise."""
    missing = DatabaseError("query_failed", "not found", 208, usable=True)
    audit = detect.EVENTS.partition("{")[0]

    def query(asked: str) -> Sequence[Sequence[Any]]:
        if asked in IN_PLACE_OF.get(sql, ()):
            raise missing
        if asked == sql or (sql == audit and asked.startswith(audit)):
            return rows
        return [EVENT] if asked.startswith(audit) else ANSWERS[asked]

    watch = ConfigWatcher(60)
    parts = decode(watch.take_snapshot(query).encoded_parts)
    assert watch.missing == {}
    return parts


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("sql", [sql for sql in ANSWERS if ANSWERS[sql]])
def test_an_odd_value_costs_one_field(sql: str, value: object) -> None:
    good = ANSWERS[sql]
    whole = snapshot(sql, good)
    for column in range(len(good[0])):
        odd = (*good[0][:column], value, *good[0][column + 1 :])
        found = snapshot(sql, [odd, *good[1:]])
        changed = [key for key in whole if found.get(key) != whole[key]]
        assert len(changed) <= 1, column
        if len(good) > 1:
            assert found.keys() == whole.keys(), column
            assert all(found[key].objects.get("two") == whole[key].objects.get("two") for key in changed)


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_an_odd_value_in_the_audit_trail_costs_one_event(value: object) -> None:
    audit = detect.EVENTS.partition("{")[0]
    for column in range(len(EVENT)):
        snapshot(audit, [(*EVENT[:column], value, *EVENT[column + 1 :]), EVENT])


@pytest.mark.parametrize("sql", list(ANSWERS))
def test_no_rows_where_there_are_some_is_no_error(sql: str) -> None:
    snapshot(sql, [])
