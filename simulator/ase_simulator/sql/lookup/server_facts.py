"""Facts about the server that functions and procedures share."""

from datetime import datetime

from ase_simulator.contracts import Server


def boot_time(server: Server) -> datetime:
    """When the server started."""
    start = next(iter(server.table("monState")), {}).get("StartDate")
    return start if isinstance(start, datetime) else server.local_now()


def run_value(server: Server, option: str, default: int) -> int:
    """The run value of a configuration option; default where this version lacks it."""
    return next((each.run for each in server.options() if each.name == option), default)


def running_text(server: Server, spid: int | None) -> str | None:
    """The SQL that a process runs."""
    lines = [
        str(row.get("SQLText") or "")
        for row in server.table("monProcessSQLText")
        if row.get("SPID") == spid and spid is not None
    ]
    return "".join(lines) or None


def cached_text(server: Server, number: int | None) -> str | None:
    """The text of a statement in the statement cache, by its SSQLID."""
    for row in server.table("monCachedStatement"):
        if row.get("SSQLID") == number:
            return str(row.get("SQLText"))
    return None
