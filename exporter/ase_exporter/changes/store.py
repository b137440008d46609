"""The history of changes: one SQLite file in the state directory, written by one process.

It holds the changes, the last snapshot of every target and the totals. Without a directory the same tables are in
memory. Used by one thread at a time.
"""

import contextlib
import errno
import fcntl
import json
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

from ase_exporter.changes.change import ANNOTATION, Change, checked
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.regular_files import own_directory, writing
from ase_exporter.untrusted.entry import load_json, one_line

log = logging.getLogger(__name__)

FILE = "changes.db"
LOCK = "lock"
# Seconds. Another program that has locked the file, a backup for example, must not delay the end of the exporter.
LOCK_WAIT = 0.4
_VERSION = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, at REAL NOT NULL, not_before REAL, end REAL,
    who TEXT NOT NULL, source TEXT NOT NULL, tags TEXT NOT NULL, failed INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS changes_at ON changes (at);
CREATE TABLE IF NOT EXISTS snapshots (target TEXT PRIMARY KEY, at REAL NOT NULL, snapshot BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS totals (
    target TEXT NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (target, kind));
"""
_NUMBER = (int, float)
# Names of errors that come from a damaged file. The others come from its directory, the disk or other processes.
_DAMAGED = re.compile("SQLITE_(ERROR|INTERNAL|CORRUPT|SCHEMA|TOOBIG|MISMATCH|FORMAT|NOTADB)")
# Of the files that SQLite opens.
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_COLUMNS = "id, target, kind, name, old, new, at, not_before, end, who, source, tags, failed"
_FIND = f"""
SELECT {_COLUMNS} FROM changes
WHERE (:target IS NULL OR target = :target) AND (:kind = '' OR kind = :kind)
    AND instr(lower(name || ' ' || old || ' ' || new || ' ' || who || ' ' || tags), :text) > 0
    AND (:since IS NULL OR coalesce(end, at) >= :since) AND (:until IS NULL OR at <= :until)
ORDER BY at DESC, seq DESC LIMIT :limit
"""

Result = TypeVar("Result")


class StoreError(AseExporterError):
    """The state directory cannot be read or written at the moment; the message says why."""


# A server that changes all the time, or a caller who annotates, takes nothing of the others away.
_DELETE_BEYOND = """
DELETE FROM changes WHERE seq IN (
  SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY target, kind ORDER BY seq DESC) AS place FROM changes)
  ORDER BY place, seq DESC LIMIT -1 OFFSET ?)"""


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes to list; None and '' match all. since, until: Unix times. text: a substring of any text field."""

    target: str | None = None
    kind: str = ""
    text: str = ""
    since: float | None = None
    until: float | None = None
    limit: int = 1000


class Store:
    """The history, as `open_store` opens it."""

    def __init__(self, directory: Path | None, lock: IO[str] | None) -> None:
        self._directory = directory
        self._lock = lock
        # None while the file cannot be opened, because the disk is full or cannot be written.
        self._opened: sqlite3.Connection | None = None
        with contextlib.suppress(StoreError):
            self._opened = self._open()

    @property
    def _database(self) -> sqlite3.Connection:
        """The open database. Raises StoreError if it cannot be opened."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def close(self) -> None:
        """Close the file and release the lock; call once."""
        if self._opened:
            self._opened.close()
        if self._lock:
            self._lock.close()

    def last_snapshots(self) -> dict[str, tuple[float, bytes]]:
        """The last snapshot of every target: Unix time and encoded parts."""
        rows = self._run(lambda db: db.execute("SELECT target, at, snapshot FROM snapshots").fetchall())
        return {
            str(target): (float(at), snapshot)
            for target, at, snapshot in rows
            if isinstance(at, _NUMBER) and isinstance(snapshot, bytes)
        }

    def totals(self) -> dict[tuple[str, str], int]:
        """The number of changes so far, by target and kind."""
        rows = self._run(lambda db: db.execute("SELECT target, kind, count FROM totals").fetchall())
        return {(str(target), str(kind)): count for target, kind, count in rows if isinstance(count, int)}

    def record(self, target: str, at: float, parts: bytes, changes: Sequence[Change]) -> None:
        """Save a snapshot and the changes that it showed, in one transaction."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (target, at, parts))
            for change in changes:
                _insert(db, change)

        self._run(write)

    def confirm_unchanged(self, times: dict[str, float]) -> None:
        """Save that targets were unchanged at these Unix times."""
        self._run(
            lambda db: db.executemany(
                "UPDATE snapshots SET at = ? WHERE target = ?", [(at, target) for target, at in times.items()]
            )
        )

    def add(self, change: Change) -> bool:
        """Add an annotation; False if its id is known already."""
        return self._run(lambda db: _insert(db, change))

    def finish(self, change_id: str, end: float, failed: str) -> Change | None:
        """End a region; returns it, None if its id is unknown. A second call changes nothing.

        failed: '' or how it failed.
        """

        def write(db: sqlite3.Connection) -> Change | None:
            row = db.execute(f"SELECT {_COLUMNS} FROM changes WHERE id = ?", (change_id,)).fetchone()
            begun = _change(row) if row and row[2] == ANNOTATION else None
            if begun is None or begun.end is not None:
                return begun
            change = replace(begun, end=max(end, begun.at), failed=bool(failed), new=failed)
            db.execute(
                "UPDATE changes SET end = ?, failed = ?, new = ? WHERE id = ?",
                (change.end, change.failed, change.new, change_id),
            )
            return change

        return self._run(write)

    def find(self, wanted: ChangeFilter) -> list[Change]:
        """Changes, the newest first."""
        places = asdict(wanted) | {"text": wanted.text.lower()}
        rows = self._run(lambda db: db.execute(_FIND, places).fetchall())
        return [change for row in rows if (change := _change(row))]

    def prune(self, before: float, max_changes: int) -> None:
        """Delete changes before a time and beyond a number: of the targets and kinds that have most, the oldest."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM changes WHERE at < ?", (before,))
            db.execute(_DELETE_BEYOND, (max_changes,))

        self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        database = self._database
        try:
            with database:
                database.execute("BEGIN IMMEDIATE")
                return work(database)
        except sqlite3.Error as error:
            if self._is_damaged(error):
                database.close()
                self._opened = None
                self._move_aside(error)
            raise StoreError(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        """Open the file; one that is damaged is moved aside. Raises StoreError."""
        for _ in range(2):
            try:
                return _connect(self._path)
            except sqlite3.Error as error:
                reason = str(error)
                if not self._is_damaged(error):
                    break
                self._move_aside(error)
        raise StoreError(reason)

    @property
    def _path(self) -> str:
        return str(self._directory / FILE) if self._directory else ":memory:"

    def _is_damaged(self, error: sqlite3.Error) -> bool:
        """Whether an error comes from a damaged file, rather than one that is full, locked, or not accessible."""
        name = getattr(error, "sqlite_errorname", None)
        if name is None:
            return isinstance(error, sqlite3.DatabaseError) and not isinstance(
                error, sqlite3.ProgrammingError
            )
        if name == "SQLITE_READONLY" and self._directory:
            # The header says so, not the file system.
            return os.access(self._path, os.W_OK) and os.access(self._directory, os.W_OK)
        return bool(_DAMAGED.match(name))

    def _move_aside(self, error: sqlite3.Error) -> None:
        if self._directory is None:
            return
        try:
            for suffix in _SUFFIXES:
                path = self._directory / (FILE + suffix)
                if os.path.lexists(path):
                    path.replace(self._directory / f"{FILE}.damaged{suffix}")
        except OSError as failure:
            raise StoreError(
                f"{FILE} is damaged ({error}) and cannot be moved: {failure.strerror}"
            ) from failure
        log.error(
            "state directory: %s is damaged (%s) and was moved aside; starting without history", FILE, error
        )


def open_store(directory: Path | None) -> Store:
    """The store in a directory, created if needed, or in memory. Raises UserError if it cannot be opened."""
    if directory is None:
        return Store(None, None)
    try:
        own_directory(directory)
        with writing():
            lock = os.fdopen(_open_lock(directory / LOCK), encoding="utf-8")
    except OSError as error:
        raise UserError(f"--state-dir: {directory}: {error.strerror or error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise UserError(
            f"--state-dir: {directory}: another ase-exporter (process {holder}) uses it; "
            "expected a directory of its own for each"
        ) from error
    # On a full disk the lock does not say who holds it.
    with contextlib.suppress(OSError):
        os.truncate(lock.fileno(), 0)
        os.write(lock.fileno(), str(os.getpid()).encode())
    return Store(directory, lock)


def _open_lock(path: Path) -> int:
    """Its descriptor; not through a link, as what it says is replaced. Raises OSError."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o640)
    except OSError as error:
        # The kernel makes a broken disk read-only: then a process that crashed must be able to come back.
        if error.errno != errno.EROFS:
            raise
        return os.open(path, flags)


def _connect(path: str) -> sqlite3.Connection:
    for each in (Path(path + suffix) for suffix in _SUFFIXES):
        # On a FIFO or a device, SQLite would wait for ever.
        if each.is_symlink() or (each.exists() and not each.is_file()):
            raise sqlite3.DatabaseError(f"malformed: {each.name} is no regular file")
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=LOCK_WAIT)
    database.text_factory = lambda data: one_line(data.decode("utf-8", "replace"))
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # Commits are durable: an annotation that is confirmed survives a power cut.
        database.execute("PRAGMA synchronous = FULL")
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"malformed: {verdict}")
        _require_tables(database)
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise UserError(
                f"--state-dir: {path}: written by a newer version of ase-exporter (layout {version}; "
                f"expected at most {_VERSION})"
            )
        database.executescript(_TABLES)
        database.execute(f"PRAGMA user_version = {_VERSION}")
    except BaseException:
        database.close()
        raise
    return database


def _require_tables(database: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for a schema that would run what its author wrote: views, triggers, expressions."""
    database.execute("PRAGMA trusted_schema = OFF")
    kinds = "'view', 'trigger'"
    foreign = f"type IN ({kinds}) OR sql LIKE 'CREATE VIRTUAL%' OR sql LIKE '%GENERATED ALWAYS%'"
    if found := database.execute(f"SELECT name FROM sqlite_master WHERE {foreign} LIMIT 1").fetchone():
        raise sqlite3.DatabaseError(f"malformed: {found[0]} is no table of ours")


def _insert(database: sqlite3.Connection, change: Change) -> bool:
    row = asdict(change) | {"tags": json.dumps(change.tags)}
    values = [row[column] for column in _COLUMNS.split(", ")]
    marks = ", ".join("?" * len(values))
    done = database.execute(f"INSERT OR IGNORE INTO changes ({_COLUMNS}) VALUES ({marks})", values)
    if not done.rowcount:
        return False
    database.execute(
        "INSERT INTO totals VALUES (?, ?, 1) ON CONFLICT (target, kind) DO UPDATE SET count = count + 1",
        (change.target, change.kind),
    )
    return True


def _change(row: Iterable[Any]) -> Change | None:
    """A change from its row; None if the row is damaged."""
    fields = dict(zip(_COLUMNS.split(", "), row, strict=True))
    try:
        return checked(fields | {"tags": load_json(fields["tags"]), "failed": bool(fields["failed"])})
    except (TypeError, ValueError):
        return None
