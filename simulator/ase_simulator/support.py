"""What the simulator does, approximates and refuses, as data."""

from typing import Any

from ase_simulator.model.tables import constant_columns
from ase_simulator.sql.execute.commands import DBCC, DBCC_REFUSED
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.declared import CONSTANT
from ase_simulator.sql.functions.registry import REFUSED as REFUSED_FUNCTIONS
from ase_simulator.sql.procedures import PARTS, PROCEDURES, REFUSED, SCRIPTED
from ase_simulator.sql.syntax.keywords import FIXED_SETTINGS

_APPROXIMATED = {
    "statements": {
        "CHECKPOINT, RECONFIGURE, UPDATE STATISTICS": "accepted; nothing that is shown changes",
        "GRANT, REVOKE of permissions": "accepted and not kept: who may read is decided by roles alone",
        "locks": "of rows and tables; a reader at isolation level 1 waits for any changed row of its tables",
        "SET": "optimizer options are kept and change no answer",
        "SELECT FOR UPDATE": "locks nothing more than SELECT",
        "LOCK, ON, WITH, PARTITION": "of tables and indexes: accepted; nothing that is shown changes",
        "SHOWPLAN, STATISTICS": "every table is scanned once, a page for each row",
    },
    "procedures": [
        "sp_helprotect",
        "sp_helpsegment",
        "sp_helpthreshold",
        "sp_metrics",
        "sp_showplan",
        "sp_tempdb",
    ],
    "dbcc": ["proc_cache", "stacktrace"],
}
_REFUSED = [
    "ALTER DATABASE", "COMPUTE", "CREATE DEFAULT", "CREATE RULE", "CREATE TRIGGER", "CREATE VIEW", "DELETE TOP",
    "DISK", "DUMP", "INSERT BULK", "LOAD", "LOCK TABLE", "MERGE", "MOUNT", "ONLINE", "QUIESCE", "READPAST",
    "READTEXT", "REORG", "SETUSER", "TRANSFER", "UNMOUNT", "UPDATE TOP", "WHERE CURRENT OF", "WRITETEXT",
    "computed columns", "cursors of client libraries", "ignore_dup_key",
]  # fmt: skip


def support() -> dict[str, Any]:
    """By `done`, `approximated` and `refused`. columns: of monitoring tables whose value never changes."""
    procedures = sorted({*PROCEDURES, *SCRIPTED} - PARTS - {*_APPROXIMATED["procedures"]})
    return {
        "message": 20999,
        "done": {
            "procedures": procedures,
            "functions": sorted(FUNCTIONS.keys() - CONSTANT - {"simulate"}),
            "dbcc": sorted(DBCC.keys() - {*_APPROXIMATED["dbcc"]}),
        },
        "approximated": {**_APPROXIMATED, "functions": sorted(CONSTANT), "columns": constant_columns()},
        "refused": {
            "statements": _REFUSED,
            "settings other than": FIXED_SETTINGS,
            "procedures": sorted(REFUSED),
            "functions": sorted(REFUSED_FUNCTIONS),
            "dbcc": sorted(DBCC_REFUSED),
        },
    }
