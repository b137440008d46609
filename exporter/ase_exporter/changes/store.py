"""The history on disk: one SQLite file in the state directory, written by one process.

Holds the changes, the last look of every target, the totals, and the queue of what Grafana has not got yet.
Without a directory the same tables live in memory. For one thread at a time.
"""

import fcntl
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from ase_exporter.changes.change import ANNOTATION, Change
from ase_exporter.errors import AseExporterError, UserError

log = logging.getLogger(__name__)

FILE = "changes.db"
LOCK = "lock"
# Changes that wait for Grafana; beyond these the oldest are given up, and counted.
QUEUE_LIMIT = 10_000
_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, at REAL NOT NULL, not_before REAL, end REAL,
    who TEXT NOT NULL, source TEXT NOT NULL, tags TEXT NOT NULL, failed INTEGER NOT NULL, grafana_id INTEGER);
CREATE INDEX IF NOT EXISTS changes_at ON changes (at);
CREATE TABLE IF NOT EXISTS looks (target TEXT PRIMARY KEY, at REAL NOT NULL, snapshot BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS totals (
    target TEXT NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (target, kind));
CREATE TABLE IF NOT EXISTS posts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, change_id TEXT NOT NULL, action TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, settle_at REAL);
"""
_COLUMNS = "id, target, kind, name, old, new, at, not_before, end, who, source, tags, failed"

Action = Literal["create", "finish"]
Result = TypeVar("Result")


class StoreError(AseExporterError):
    """The state directory cannot be read or written now; the message says why."""


@dataclass(frozen=True, slots=True)
class Post:
    """What Grafana is to be told next. tries: how often that was begun; grafana_id: of the annotation."""

    number: int
    action: Action
    tries: int
    change: Change
    grafana_id: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which changes to list; None and '' take all. since, until: Unix times; text: found in what they say."""

    target: str | None = None
    kind: str = ""
    text: str = ""
    since: float | None = None
    until: float | None = None
    limit: int = 1000


class Store:
    """Open with `open_store`."""

    def __init__(self, directory: Path | None, lock: IO[str] | None) -> None:
        self._directory = directory
        self._lock = lock
        self._database = self._open()

    def close(self) -> None:
        """Give back the file and the lock; call once."""
        self._database.close()
        if self._lock:
            self._lock.close()

    def looks(self) -> dict[str, tuple[float, bytes]]:
        """The last look of every target: when, and what it found."""
        rows = self._run(lambda db: db.execute("SELECT target, at, snapshot FROM looks").fetchall())
        return {target: (at, snapshot) for target, at, snapshot in rows}

    def totals(self) -> dict[tuple[str, str], int]:
        """How many changes there ever were, by target and kind."""
        rows = self._run(lambda db: db.execute("SELECT target, kind, count FROM totals").fetchall())
        return {(target, kind): count for target, kind, count in rows}

    def record(self, target: str, at: float, snapshot: bytes, changes: Sequence[Change], post: bool) -> None:
        """A look and the changes that it showed, all or nothing."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO looks VALUES (?, ?, ?)", (target, at, snapshot))
            for change in changes:
                _insert(db, change, post)

        self._run(write)

    def looked(self, times: dict[str, float]) -> None:
        """Targets that were found unchanged, and when."""
        self._run(
            lambda db: db.executemany(
                "UPDATE looks SET at = ? WHERE target = ?", [(at, target) for target, at in times.items()]
            )
        )

    def add(self, change: Change, post: bool) -> bool:
        """A change told by hand; False if one of that id is there already."""
        return self._run(lambda db: _insert(db, change, post))

    def finish(self, change_id: str, end: float, failed: str, post: bool) -> Change | None:
        """End a region; failed: '' or how it failed. Ending it twice is ending it once; None if unknown."""

        def write(db: sqlite3.Connection) -> Change | None:
            row = db.execute(f"SELECT {_COLUMNS} FROM changes WHERE id = ?", (change_id,)).fetchone()
            if row is None or row[2] != ANNOTATION:
                return None
            begun = _change(row)
            if begun.end is not None:
                return begun
            change = replace(begun, end=max(end, begun.at), failed=bool(failed), new=failed)
            db.execute(
                "UPDATE changes SET end = ?, failed = ?, new = ? WHERE id = ?",
                (change.end, change.failed, change.new, change_id),
            )
            if post:
                _queue(db, change_id, "finish")
            return change

        return self._run(write)

    def find(self, wanted: Filter) -> list[Change]:
        """Changes, the newest first."""
        return self._run(lambda db: find(db, wanted))

    def next_post(self, now: float) -> Post | None:
        """What to tell Grafana next, in the order in which it became known."""
        row = self._run(
            lambda db: db.execute(
                f"SELECT posts.seq, action, tries, grafana_id, {_COLUMNS} FROM posts"
                " JOIN changes ON changes.id = change_id"
                " WHERE settle_at IS NULL OR settle_at <= ?"
                " ORDER BY settle_at IS NOT NULL, posts.seq LIMIT 1",
                (now,),
            ).fetchone()
        )
        return row and Post(row[0], row[1], row[2], _change(row[4:]), row[3])

    def begin_post(self, post: Post) -> None:
        """Say, before the request leaves, that it may arrive."""
        self._run(lambda db: db.execute("UPDATE posts SET tries = tries + 1 WHERE seq = ?", (post.number,)))

    def end_post(self, post: Post, grafana_id: int | None, settle_at: float | None = None) -> None:
        """Grafana has it, or never will (None). settle_at: when to look whether it came twice."""

        def write(db: sqlite3.Connection) -> None:
            if grafana_id is not None:
                db.execute("UPDATE changes SET grafana_id = ? WHERE id = ?", (grafana_id, post.change.id))
            if settle_at is None:
                db.execute("DELETE FROM posts WHERE seq = ?", (post.number,))
            else:
                db.execute("UPDATE posts SET settle_at = ? WHERE seq = ?", (settle_at, post.number))

        self._run(write)

    def queued(self) -> int:
        """How many posts Grafana has not got yet."""
        sql = "SELECT count(*) FROM posts WHERE settle_at IS NULL"
        return int(self._run(lambda db: db.execute(sql).fetchone())[0])

    def prune(self, before: float, most: int) -> int:
        """Forget what is older than `before` and what is more than `most`; the number of posts given up."""

        def write(db: sqlite3.Connection) -> int:
            waiting = "id NOT IN (SELECT change_id FROM posts)"
            db.execute(f"DELETE FROM changes WHERE at < ? AND {waiting}", (before,))
            db.execute(
                f"DELETE FROM changes WHERE {waiting}"
                " AND seq <= (SELECT seq FROM changes ORDER BY seq DESC LIMIT 1 OFFSET ?)",
                (most,),
            )
            kept = "SELECT seq FROM posts ORDER BY seq DESC LIMIT 1 OFFSET ?"
            return db.execute(f"DELETE FROM posts WHERE seq <= ({kept})", (QUEUE_LIMIT,)).rowcount

        return self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do something in one transaction."""
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                return work(self._database)
        except sqlite3.DatabaseError as error:
            if _is_corrupt(error):
                log.error("state directory: %s is damaged (%s) and is set aside", FILE, error)
                self._database.close()
                self._set_aside()
                self._database = self._open()
            raise StoreError(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self._path)
        except sqlite3.DatabaseError as error:
            if not _is_corrupt(error):
                raise UserError(f"--state-dir: {self._path}: {error}") from error
            log.error("state directory: %s is damaged (%s) and is set aside", FILE, error)
            self._set_aside()
            return _connect(self._path)

    @property
    def _path(self) -> str:
        return str(self._directory / FILE) if self._directory else ":memory:"

    def _set_aside(self) -> None:
        if self._directory is None:
            return
        for suffix in ("", "-wal", "-shm"):
            path = self._directory / (FILE + suffix)
            if path.exists():
                path.replace(self._directory / f"{FILE}.damaged{suffix}")


def open_store(directory: Path | None) -> Store:
    """The store of a directory, made if need be, or one in memory. UserError if it cannot be had."""
    if directory is None:
        return Store(None, None)
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        lock = (directory / LOCK).open("a+", encoding="utf-8")
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
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return Store(directory, lock)


def read_history(directory: Path, wanted: Filter) -> list[Change]:
    """Changes out of a state directory that an exporter may be using. UserError if it cannot be read."""
    path = directory / FILE
    if not path.is_file():
        raise UserError(f"--state-dir: {directory}: no {FILE} in it")
    try:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5.0)
        try:
            return find(database, wanted)
        finally:
            database.close()
    except sqlite3.DatabaseError as error:
        raise UserError(f"--state-dir: {path}: {error}") from error


def find(database: sqlite3.Connection, wanted: Filter) -> list[Change]:
    """Changes of a history, the newest first."""
    conditions: list[str] = []
    values: list[Any] = []
    if wanted.target is not None:
        conditions.append("target = ?")
        values.append(wanted.target)
    if wanted.kind:
        conditions.append("kind = ?")
        values.append(wanted.kind)
    if wanted.text:
        conditions.append(
            "instr(lower(name || ' ' || old || ' ' || new || ' ' || who || ' ' || tags), ?) > 0"
        )
        values.append(wanted.text.lower())
    if wanted.since is not None:
        conditions.append("coalesce(end, at) >= ?")
        values.append(wanted.since)
    if wanted.until is not None:
        conditions.append("at <= ?")
        values.append(wanted.until)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = f"SELECT {_COLUMNS} FROM changes{where} ORDER BY at DESC, seq DESC LIMIT ?"
    return [_change(row) for row in database.execute(sql, (*values, wanted.limit))]


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # A commit is on disk when it returns: what was posted must not be forgotten by a power cut.
        database.execute("PRAGMA synchronous = FULL")
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"malformed: {verdict}")
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


def _is_corrupt(error: sqlite3.DatabaseError) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return False
    return not isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError)


def _insert(database: sqlite3.Connection, change: Change, post: bool) -> bool:
    values = (
        change.id,
        change.target,
        change.kind,
        change.name,
        change.old,
        change.new,
        change.at,
        change.not_before,
        change.end,
        change.who,
        change.source,
        json.dumps(change.tags),
        change.failed,
    )
    marks = ", ".join("?" * len(values))
    done = database.execute(f"INSERT OR IGNORE INTO changes ({_COLUMNS}) VALUES ({marks})", values)
    if not done.rowcount:
        return False
    database.execute(
        "INSERT INTO totals VALUES (?, ?, 1) ON CONFLICT (target, kind) DO UPDATE SET count = count + 1",
        (change.target, change.kind),
    )
    if post:
        _queue(database, change.id, "create")
    return True


def _queue(database: sqlite3.Connection, change_id: str, action: Action) -> None:
    database.execute("INSERT INTO posts (change_id, action) VALUES (?, ?)", (change_id, action))


def _change(row: Iterable[Any]) -> Change:
    *values, tags, failed = row
    return Change(*(*values, tuple(json.loads(tags)), bool(failed)))
