"""Space of databases and tables, in pages of 4 KB or in KB."""

from collections.abc import Iterable

from ase_simulator.contracts import Row
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.lookup.snapshot import Snapshot

_PAGE_KB = 4
SINGLE_USER = 4096
# Bits of sysdatabases with which a database cannot be opened, and the message then.
_UNAVAILABLE = {
    "status": {32: 937, 64: 921, 256: 926, 2048: 923, SINGLE_USER: 924},
    "status2": {16: 950, 32: 921, 512: 921},
    "status3": dict.fromkeys((8, 4096, 8192, 1 << 22), 950),
}
_FOR_OWNER, _FOR_ONE_USER = 923, 924
_RESERVED_FOR_ROLLBACKS = 0.01  # share of the log
_LOG_OF_MIXED = 0.02  # share of fragments that hold data and log
_LOG_SEGMENT = 4  # bit of sysusages.segmap


def check_open(row: Row, *, owner: bool = False, occupied: bool = True) -> None:
    """Raises SqlError unless a database, given by its row of sysdatabases, can be opened.

    owner: by its owner; occupied: somebody is in it.
    """
    allowed = {_FOR_OWNER: owner, _FOR_ONE_USER: not occupied}
    for column, numbers in _UNAVAILABLE.items():
        for bit, number in numbers.items():
            if _int(row, column) & bit and not allowed.get(number):
                raise SqlError(number, row["name"])
    if _int(row, "instanceid") > 1:
        raise SqlError(969, row["name"], f"{row['name']}_owner")


def _check_available(tables: Snapshot, database: int | None) -> None:
    """Raises SqlError if the database cannot be opened."""
    for row in tables.rows("sysdatabases", "dbid", database):
        check_open(row)


def _int(row: Row, column: str) -> int:
    return int(str(row.get(column) or 0))


def _total(rows: Iterable[Row], column: str) -> int:
    return sum(_int(row, column) for row in rows)


def free_pages(tables: Snapshot, database: int | None, start: int | None) -> int:
    """Unreserved pages of one fragment (curunreservedpgs). Raises SqlError for an unavailable database."""
    _check_available(tables, database)
    fragments = tables.rows("sysusages", "dbid", database)
    return next((_int(row, "unreservedpgs") for row in fragments if row.get("lstart") == start), 0)


def object_pages(tables: Snapshot, database: int | None, number: int | None, index: int | None) -> int | None:
    """Pages of a table, or of one of its indexes."""
    if database is None or number is None:
        return None
    rows = tables.rows("monCachedObject", "ObjectID", number)
    parts = [row for row in rows if row["DBID"] == database and index in (None, row["IndexID"])]
    return _total(parts, "TotalSizeKB") // _PAGE_KB


def log_pages(tables: Snapshot, action: str | None, database: int | None) -> int:
    """lct_admin(): used, free or reserved pages of a log. Raises SqlError for an unavailable database."""
    _check_available(tables, database)
    rows = tables.rows("sysusages", "dbid", database)
    fragments = [row for row in rows if _int(row, "segmap") & _LOG_SEGMENT]
    size, free = _total(fragments, "size"), _total(fragments, "unreservedpgs")
    if action == "logsegment_freepages":
        return free
    if action == "reserved_for_rollbacks":
        return int(size * _RESERVED_FOR_ROLLBACKS)
    if action == "num_logpages":
        mixed = any(row.get("segmap") != _LOG_SEGMENT for row in fragments)
        return int(size * _LOG_OF_MIXED) if mixed else size - free
    return 0
