"""Facts about the server that functions and procedures share."""

from datetime import datetime

from ase_simulator.contracts import Server
from ase_simulator.sql.lookup.snapshot import Snapshot


def boot_time(server: Server) -> datetime:
    """When the server started."""
    start = next(iter(server.table("monState")), {}).get("StartDate")
    return start if isinstance(start, datetime) else server.local_now()


def run_value(server: Server, option: str, default: int) -> int:
    """The run value of a configuration option; default where this version lacks it."""
    return next((each.run for each in server.options() if each.name == option), default)


def running_text(tables: Snapshot, spid: int | None) -> str | None:
    """The SQL that a process runs."""
    lines = tables.rows("monProcessSQLText", "SPID", spid)
    return "".join(str(row.get("SQLText") or "") for row in lines) or None


def cached_text(tables: Snapshot, number: int | None) -> str | None:
    """The text of a statement in the statement cache, by its SSQLID."""
    rows = tables.rows("monCachedStatement", "SSQLID", number)
    return str(rows[0].get("SQLText")) if rows else None
