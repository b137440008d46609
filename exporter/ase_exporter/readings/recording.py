"""Records what is read, in the format of captures, and reads such a file again (docs/capture.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.capture.file import LOGIN, CaptureHeader, Execution
from ase_exporter.capture.playback import NOT_RECORDED, Playback
from ase_exporter.capture.recording import Recorder
from ase_exporter.capture.stream import CaptureWriter
from ase_exporter.catalogue import Catalogue, PlannedCollector, ServerFacts, plan, read_facts
from ase_exporter.catalogue.facts import SERVER
from ase_exporter.changes.detect import OPTIONS, ConfigWatcher
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Module
from ase_exporter.errors import UnreadableError, UserError
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.families import Family
from ase_exporter.readings.live import SCREEN
from ase_exporter.readings.samples import SESSION_ROWS, ChangeLog, Sample, Tracker
from ase_exporter.sessions.reader import SessionReader
from ase_exporter.sessions.session import Snapshot
from ase_exporter.sessions.sources import STATEMENTS, groups_in


class Recording:
    """Writes the statements of a sampler that logs in by `recorder.open`. interval: seconds between its samples.

    Raises UserError if the file cannot be written.
    """

    def __init__(self, path: Path, interval: float, clock: Clock = SYSTEM_CLOCK) -> None:
        if path.exists():
            raise UserError(f"--record {path}: exists already; expected a new file")
        self.recorder = Recorder(clock)
        header = CaptureHeader(
            exporter=version("ase-exporter"),
            created=datetime.fromtimestamp(clock.time(), UTC).isoformat(timespec="milliseconds"),
            scrapes=1,
            interval=interval,
        )
        self._writer = CaptureWriter(path, header)

    def save(self) -> str:
        """Write what was recorded since the last call; returns why nothing more is recorded, or ''."""
        try:
            self._writer.add(self.recorder.take())
        except UserError as error:
            return str(error)
        return "the recording is full" if self._writer.is_full else ""

    def close(self) -> None:
        self._writer.close()


class Replayer:
    """Turns the scrapes of a capture into samples, as they were then.

    Each collector is read in the scrapes in which all its statements were recorded: the budget and the intervals
    were those of the recording. target: the name to show.
    """

    def __init__(self, header: CaptureHeader, target: str, catalogue: Catalogue) -> None:
        self._header = header
        self._target = target
        self._catalogue = catalogue
        self._module = SCREEN.module(Module(), catalogue)
        began = datetime.fromisoformat(header.created).timestamp()
        # Seconds since the start of the recording, whose time `clock` shows.
        self._passed = 0.0
        self._clock = Clock(lambda: self._passed, lambda: began + self._passed)
        self._tracker = Tracker()
        self._counters = CounterStore()
        self._changes = ChangeLog(target)
        self._watch = ConfigWatcher(0.0, self._clock)
        self._reader = SessionReader(0.0, self._clock, statement_interval=0.0)
        self._sessions: Snapshot | None = None
        self._playback = Playback()
        self._facts: ServerFacts | None = None
        self._planned: Sequence[PlannedCollector] = ()

    def sample(self, statements: Sequence[Execution]) -> Sample:
        """The sample of one scrape. Never raises: an error is part of the sample."""
        first = statements[0]
        self._passed = (first.scrape - 1) * self._header.interval if first.at is None else first.at
        self._playback.add(statements)
        current = {each.sql: each for each in statements}
        seconds, interval = sum(each.seconds for each in statements), self._header.interval
        error, missing = _fatal(statements), dict[str, str]()
        try:
            if not error:
                missing = self._read(current)
        except (DatabaseError, UserError, TypeError, ValueError, IndexError) as problem:
            error = DatabaseError("query_failed", str(problem))
        if error:
            self._tracker.forget()
        elif self._sessions is None:
            missing[SESSION_ROWS] = "this recording has no sessions; those of top --record have"
        return Sample(
            target=self._target,
            at=self._clock.time(),
            monotonic=self._passed,
            interval=interval,
            error=str(error or ""),
            kind=error.kind if error else "",
            version=str(self._facts.version) if self._facts else "",
            series=self._tracker.series(),
            missing=missing,
            statement_share=seconds / interval if interval else None,
            changes=tuple(self._changes.changes),
            facts=self._facts,
            sessions=None if error else self._sessions,
        )

    def _read(self, current: Mapping[str, Execution]) -> dict[str, str]:
        """Read what this scrape has; returns the collectors that are missing, with the reason."""
        if self._facts is None or SERVER in current:
            self._facts = read_facts(self._playback.query, self._facts)
            self._planned = plan(self._catalogue, self._facts, self._module.collectors, SCREEN.top)
        # After a login, the scrape began later than the first statement.
        known = [current[each.statement].at for each in self._planned if each.statement in current]
        self._passed = min((at for at in known if at is not None), default=self._passed)
        collected: dict[str, list[Family]] = {}
        missing: dict[str, str] = {each.name: each.reason for each in self._planned if not each.available}
        for collector in (each for each in self._planned if each.available):
            try:
                collected[collector.name] = self._collect(collector, current)
            except UnreadableError:
                missing[collector.name] = "unreadable"
            except DatabaseError as error:
                missing[collector.name] = "not recorded" if NOT_RECORDED in str(error) else error.kind
        self._tracker.note(self._passed, collected, missing)
        self._take_sessions(self._facts, current)
        if OPTIONS in current:
            self._changes.note(self._watch.take_snapshot(self._playback.query))
        return missing

    def _take_sessions(self, facts: ServerFacts, current: Mapping[str, Execution]) -> None:
        """Take what this scrape has of sessions; statements are read less often."""
        groups = groups_in(current, facts)
        if not groups:
            return
        taken = self._reader.take(self._playback.query, facts, groups)
        if STATEMENTS not in groups and self._sessions:
            taken = replace(taken, statements=self._sessions.statements)
        self._sessions = taken

    def _collect(self, collector: PlannedCollector, current: Mapping[str, Execution]) -> list[Family]:
        """Its families; none if it was not due in this scrape."""
        rows = self._playback.query(collector.statement)
        if collector.statement not in current:
            return []
        return collector.families(rows, self._counters, self._passed, lambda problem: None)


def _fatal(statements: Sequence[Execution]) -> DatabaseError | None:
    """The error that ended the scrape, if one did: of the login, or of the connection."""
    for each in statements:
        if each.error and (each.sql == LOGIN or each.error.kind in ("lost", "out_of_step")):
            return DatabaseError(each.error.kind, each.error.text, each.error.number)
    if all(each.error and each.error.kind == "deadline" for each in statements):
        return DatabaseError("deadline", "no answer in time")
    return None
