"""master..spt_monitor: the figures that sp_monitor saw last."""

from datetime import datetime

from ase_simulator.results import Type
from ase_simulator.sql.state.tables import PermanentTables
from ase_simulator.sql.types.rules import DATETIME, INT
from ase_simulator.sql.types.values import microseconds

TABLE = "spt_monitor"
COUNTERS = {
    "cpu_busy": "@@cpu_busy",
    "io_busy": "@@io_busy",
    "idle": "@@idle",
    "pack_received": "@@pack_received",
    "pack_sent": "@@pack_sent",
    "pack_errors": "@@packet_errors",
    "total_read": "@@total_read",
    "total_write": "@@total_write",
    "total_errors": "@@total_errors",
    "connections": "@@connections",
}
"""Column -> global."""


def add_table(tables: PermanentTables, started: datetime) -> None:
    """Creates the table with one row: nothing has been counted when the server starts."""
    columns: list[tuple[str, Type]] = [("lastrun", DATETIME), *((name, INT) for name in COUNTERS)]
    tables.create("master", TABLE, columns, "", {}, frozenset(), ())
    kept = tables.find("master", TABLE)
    assert kept is not None
    kept.rows = [(microseconds(started), *(0 for _ in COUNTERS))]
