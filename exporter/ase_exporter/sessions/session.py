"""Sessions at work, and what single ones have waited for, from the rows of the sources. Pure.

Text of the server is one line from here on; names of logins, programs and hosts are without what may be a password.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.wait_parts import CPU, IDLE, wait_parts
from ase_exporter.sessions.sources import PROCESSES
from ase_exporter.sessions.statements import StatementCost, cell_text
from ase_exporter.untrusted.entry import one_line
from ase_exporter.untrusted.statements import login_name, program_name, without_literals

# Rows of a source, by column.
Rows = Sequence[Mapping[str, Any]]

LOCK, RUN_QUEUE, UNKNOWN = "lock", "run_queue", "not known"
# Sessions whose last reading of waits is kept.
_MAX_KEPT = 100
# What a process does by sysprocesses.status, where its wait event cannot be read.
_BY_STATUS = {"running": CPU, "runnable": RUN_QUEUE, "lock sleep": LOCK, "recv sleep": IDLE}


@dataclass(frozen=True, slots=True)
class Session:
    """One session. What the server does not give is '' or None.

    doing: the part of the time account that it spends its time in, `cpu` if it runs, `idle` if it waits for its client.
    seconds: in this state. blocked_by: 0 if nobody does. open_seconds: age of its transaction, if it is the oldest of a
    database. object: what its lock is on if it is blocked, else what it reads most. line: of procedure or batch. cpu,
    waited: seconds of the statement that it runs; reads: logical ones of that.
    """

    spid: int
    kpid: int
    login: str = ""
    program: str = ""
    host: str = ""
    database: str = ""
    command: str = ""
    doing: str = UNKNOWN
    event: str = ""
    seconds: float | None = None
    blocked_by: int = 0
    open_seconds: float | None = None
    object: str = ""
    lock: str = ""
    procedure: str = ""
    line: int | None = None
    cpu: float | None = None
    waited: float | None = None
    reads: float | None = None
    text: str = ""

    @property
    def active(self) -> bool:
        """Whether it is at work, or waits for something else than its client."""
        return self.doing != IDLE

    @property
    def statement(self) -> str:
        """What it runs: procedure and line, or else the command."""
        line = f":{self.line}" if self.line else ""
        return f"{self.procedure}{line}" if self.procedure else self.command


@dataclass(frozen=True, slots=True)
class SessionWait:
    """One event. doing: the part of the time account, `idle` for waits for the client.

    waits, seconds: since the login. recent: seconds since the reading before. None: not known, as of a counter that has
    wrapped, or without a reading before.
    """

    event: str
    doing: str
    waits: int | None
    seconds: float | None
    recent: float | None


@dataclass(frozen=True, slots=True)
class SessionWaits:
    """Of one session, the events with most recent time first, then those with most time. window: seconds since the
    reading before, None without one."""

    spid: int
    window: float | None
    events: tuple[SessionWait, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Who ran what at one moment. at: Unix time.

    sessions: those at work, those that block others, and those with the oldest transactions. missing: sources that
    could not be read, with the reason. cut: whether there are more sessions than were listed. waits: of the sessions
    for which they were asked.
    """

    at: float
    sessions: tuple[Session, ...] = ()
    statements: tuple[StatementCost, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    waits: tuple[SessionWaits, ...] = ()

    @property
    def unread(self) -> str:
        """Why no session is known; '' if sessions were read, of whatever source."""
        known = all(name in self.missing for name in PROCESSES)
        return "; ".join(dict.fromkeys(self.missing[name] for name in PROCESSES)) if known else ""

    def waits_of(self, spid: int) -> SessionWaits | None:
        """What a session waited for; None if that was not asked for, or it has not waited."""
        return next((each for each in self.waits if each.spid == spid), None)

    def without_text(self) -> "Snapshot":
        """The same for somebody who did not ask for the text of statements."""
        return replace(self, sessions=tuple(replace(each, text="") for each in self.sessions))

    @property
    def active(self) -> dict[str, int]:
        """The number of active sessions by what they do, the most first."""
        found = Counter(each.doing for each in self.sessions if each.active)
        return dict(sorted(found.items(), key=lambda each: -each[1]))


def sessions_of(rows: Mapping[str, Rows], facts: ServerFacts) -> tuple[Session, ...]:
    """The sessions of what was read, the longest in their state first. rows: by source."""
    executing = _by_process(rows, "executing")
    # Of nested procedures the innermost one; of objects the one that is read most.
    procedures, objects = (
        _by_process(rows, "procedures", "ContextID"),
        _by_process(rows, "objects", "LogicalReads"),
    )
    locks, held = _locks(rows, "Requested"), _locks(rows, "Granted")
    texts = _texts(rows.get("texts", ()))
    names = {(each["DBID"], each["ObjectID"]): _name(each) for each in rows.get("objects", ())}
    opened = _oldest_transactions(rows)
    found = []
    for row in next((rows[name] for name in PROCESSES if name in rows), ()):
        key = int(row["SPID"]), int(row["KPID"])
        statement, procedure = executing.get(key, {}), procedures.get(key, {})
        blocked_by = int(row["BlockingSPID"] or 0)
        # Of a session that waits for nobody, the lock that others want.
        lock = locks.get(key) if blocked_by else held.get(key)
        doing, event = _doing(row, facts)
        found.append(
            Session(
                *key,
                login=login_name(str(row["Login"] or "")),
                program=program_name(str(row["Application"] or "")),
                host=login_name(str(row.get("HostName") or "")),
                database=cell_text(row["DBName"]),
                command=cell_text(row["Command"]),
                doing=doing,
                event=event,
                seconds=row["SecondsWaiting"],
                blocked_by=blocked_by,
                open_seconds=opened.get(key[0]),
                object=_lock_object(lock, names, facts) if lock else _name(objects.get(key, {})),
                lock=f"{cell_text(lock['LockType'])} {cell_text(lock['LockLevel'])}".lower() if lock else "",
                procedure=_name(procedure),
                line=procedure.get("LineNumber") or statement.get("LineNumber") or row.get("LineNumber"),
                cpu=_seconds(statement.get("CpuTime")),
                waited=_seconds(statement.get("WaitTime")),
                reads=statement.get("LogicalReads"),
                text=texts.get(key, ""),
            )
        )
    return tuple(sorted(found, key=lambda each: (not each.active, -(each.seconds or 0), each.spid)))


def _doing(row: Mapping[str, Any], facts: ServerFacts) -> tuple[str, str]:
    """What a session does, and its wait event in words."""
    if "WaitEventID" not in row:
        return _BY_STATUS.get(cell_text(row["Status"]), UNKNOWN), ""
    return _event(int(row["WaitEventID"] or 0), facts)


def _event(number: int, facts: ServerFacts) -> tuple[str, str]:
    """What a session does in that wait event, and the event in words."""
    wait_class, event = facts.wait_events.get(number, ("", f"event {number}"))
    return wait_parts().of_session(number, wait_class), one_line(event)


def _by_process(
    rows: Mapping[str, Rows], source: str, column: str = ""
) -> dict[tuple[int, int], Mapping[str, Any]]:
    """A row for each process: the one with the most in a column."""
    ordered = sorted(rows.get(source, ()), key=lambda row: row.get(column) or 0)
    return {(row["SPID"], row["KPID"]): row for row in ordered}


def _locks(rows: Mapping[str, Rows], state: str) -> dict[tuple[int, int], Mapping[str, Any]]:
    return {
        (row["SPID"], row["KPID"]): row
        for row in rows.get("locks", ())
        if cell_text(row["LockState"]) == state
    }


def _oldest_transactions(rows: Mapping[str, Rows]) -> dict[int, float]:
    found: defaultdict[int, float] = defaultdict(float)
    for row in rows.get("transactions", ()):
        found[int(row["spid"])] = max(found[int(row["spid"])], float(row["seconds"] or 0))
    return found


def _lock_object(lock: Mapping[str, Any], names: Mapping[tuple[Any, Any], str], facts: ServerFacts) -> str:
    """The name of a locked object if a session that works on it says so: no database is entered to look it up."""
    known = names.get((lock["DBID"], lock["ObjectID"]))
    database = lock.get("DBName") or facts.databases.get(lock["DBID"], str(lock["DBID"]))
    return known or f"{cell_text(database)}: object {lock['ObjectID']}"


def _name(row: Mapping[str, Any]) -> str:
    """The name of an object with its database; '' for a row without one."""
    database, name = cell_text(row.get("DBName")), cell_text(row.get("ObjectName"))
    return f"{database}..{name}" if database and name else name


def _texts(rows: Rows) -> dict[tuple[int, int], str]:
    """The statements as they were sent, put together and without literals."""
    parts: defaultdict[tuple[int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        parts[row["SPID"], row["KPID"]].append(row)
    order = ("BatchID", "LineNumber", "SequenceInLine")
    return {
        key: without_literals(
            "".join(
                str(each["SQLText"] or "")
                for each in sorted(pieces, key=lambda row: tuple(row[name] or 0 for name in order))
            )
        )
        for key, pieces in parts.items()
    }


def _seconds(milliseconds: Any) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


class WaitTracker:
    """Takes readings of single sessions, and says what they waited for between two of them."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, int], tuple[float, dict[int, int]]] = {}

    def note(self, rows: Iterable[Mapping[str, Any]], facts: ServerFacts, now: float) -> list[SessionWaits]:
        """The waits of each session that has any. now: monotonic."""
        by_session: defaultdict[tuple[int, int], list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            by_session[int(row["SPID"]), int(row["KPID"])].append(row)
        return [self._waits(key, found, facts, now) for key, found in sorted(by_session.items())]

    def _waits(
        self, key: tuple[int, int], rows: list[Mapping[str, Any]], facts: ServerFacts, now: float
    ) -> SessionWaits:
        # Another process that has the spid by now has another kpid.
        read_at, before = self._last.pop(key, (None, {}))
        self._last[key] = now, {row["WaitEventID"]: row["WaitTime"] for row in rows}
        if len(self._last) > _MAX_KEPT:
            del self._last[next(iter(self._last))]
        found = []
        for row in rows:
            number, time = row["WaitEventID"], row["WaitTime"]
            doing, event = _event(number, facts)
            growth = None if read_at is None else time - before.get(number, 0)
            found.append(
                SessionWait(
                    event,
                    doing,
                    row["Waits"] if row["Waits"] >= 0 else None,
                    time / 1000 if time >= 0 else None,
                    None if growth is None or growth < 0 else growth / 1000,
                )
            )
        found.sort(key=lambda each: (-(each.recent or 0.0), -(each.seconds or 0.0), each.event))
        return SessionWaits(key[0], None if read_at is None else now - read_at, tuple(found))
