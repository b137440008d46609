"""Space of databases and tables, in pages of 4 KB or in KB."""

from ase_simulator.contracts import Row, Server
from ase_simulator.sql.errors import SqlError

_PAGE_KB = 4
# Bits of sysdatabases with which a database cannot be opened, and the message then.
_UNAVAILABLE = (
    ("status", 32, 937),
    ("status", 64, 921),
    ("status", 256, 926),
    ("status", 2048, 923),
    ("status", 4096, 924),
    ("status2", 16, 950),
    ("status2", 32, 921),
    ("status2", 512, 921),
    ("status3", 8, 950),
    ("status3", 4096, 950),
    ("status3", 8192, 950),
    ("status3", 1 << 22, 950),
)
_RESERVED_FOR_ROLLBACKS = 0.01  # share of the log
_LOG_OF_MIXED = 0.02  # share of fragments that hold data and log
_LOG_SEGMENT = 4  # bit of sysusages.segmap


def _check_available(server: Server, database: int | None) -> None:
    """Raises SqlError if the database cannot be opened."""
    for row in server.table("sysdatabases"):
        if row.get("dbid") == database:
            for column, bit, number in _UNAVAILABLE:
                if int(str(row.get(column) or 0)) & bit:
                    raise SqlError(number, row["name"])


def free_pages(server: Server, database: int | None, start: int | None) -> int | None:
    """Unreserved pages of one fragment (curunreservedpgs). Raises SqlError for an unavailable database."""
    _check_available(server, database)
    for row in server.table("sysusages"):
        if row.get("dbid") == database and row.get("lstart") == start:
            free = row.get("unreservedpgs")
            return int(str(free)) if free is not None else 0
    return 0


def database_pages(server: Server, database: int | None) -> dict[str, int]:
    """Pages of a database by what spaceusage() calls them."""
    rows = [row for row in server.table("sysusages") if row.get("dbid") == database]
    size = sum(int(str(row.get("size") or 0)) for row in rows)
    free = sum(int(str(row.get("unreservedpgs") or 0)) for row in rows)
    log = log_pages(server, "num_logpages", database) or 0
    used = size - free
    pages = {"reserved": used, "used": used, "data": used, "index": 0, "log": log}
    return {f"{name} pages": count for name, count in pages.items()}


def object_pages(server: Server, database: int | None, number: int | None, index: int | None) -> int | None:
    """Pages of a table, or of one of its indexes."""
    if database is None or number is None:
        return None
    sizes = [
        int(str(row.get("TotalSizeKB") or 0))
        for row in server.table("monCachedObject")
        if (row["DBID"], row["ObjectID"]) == (database, number) and index in (None, row["IndexID"])
    ]
    return sum(sizes) // _PAGE_KB


def log_size(server: Server, database: int | None) -> int:
    """Pages of the fragments that may hold log."""
    return sum(int(str(row.get("size") or 0)) for row in _log_fragments(server, database))


def _log_fragments(server: Server, database: int | None) -> list[Row]:
    rows = [row for row in server.table("sysusages") if row.get("dbid") == database]
    return [row for row in rows if int(str(row.get("segmap") or 0)) & _LOG_SEGMENT]


def log_pages(server: Server, action: str | None, database: int | None) -> int | None:
    """lct_admin(): used, free or reserved pages of a log. Raises SqlError for an unavailable database."""
    _check_available(server, database)
    fragments = _log_fragments(server, database)
    size = log_size(server, database)
    free = sum(int(str(row.get("unreservedpgs") or 0)) for row in fragments)
    if action == "logsegment_freepages":
        return free
    if action == "reserved_for_rollbacks":
        return int(size * _RESERVED_FOR_ROLLBACKS)
    if action == "num_logpages":
        mixed = any(row.get("segmap") != _LOG_SEGMENT for row in fragments)
        return int(size * _LOG_OF_MIXED) if mixed else size - free
    return 0
