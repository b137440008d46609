"""Scrapes one target: connect if needed, plan if needed, read the module, look for configuration changes.

The deadline bounds all of it: the answer is what was read by then.
"""

import logging
import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint, Opener
from ase_exporter.ase.cost import Cost
from ase_exporter.ase.login import Login
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.ase.timing import TIMING
from ase_exporter.catalogue import Catalogue, ServerFacts, read_facts, read_identity, unavailable_reason
from ase_exporter.changes.detect import ConfigWatcher
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config.dumps import Dumps
from ase_exporter.errors import UserError
from ase_exporter.metrics.columns import Row
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.outcomes import CollectorOutcome
from ase_exporter.metrics.totals_files import TotalsFiles
from ase_exporter.scraping.budget import Budget, session_cpu
from ase_exporter.scraping.module_collector import ModuleCollector
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_settings import TargetSettings
from ase_exporter.sessions.reader import SessionReader
from ase_exporter.sessions.sources import TEXT
from ase_exporter.turn import TURN

if TYPE_CHECKING:
    from ase_exporter.sysmon.runner import SysmonRunner

log = logging.getLogger(__name__)

# Undoes what a login trigger may have set: with `set rowcount`, tables would be cut off without a message; in chained
# mode, a select begins a transaction, which would then stay open.
# At level 0, row locks of catalogues, which CREATE and ALTER DATABASE hold for minutes, are not waited for. (The
# hint `readpast` would warn at this level, and is ignored before 15.0.2.) The lock wait, in seconds, only concerns
# user tables, which custom collectors may read. Both have been in all versions since 12.5: Transact-SQL User's Guide,
# "Set a Time Limit on Waiting for Locks" and "Dirty Reads".
SESSION_SETUP = (
    "if @@trancount > 0 rollback transaction"
    " set chained off set rowcount 0 set quoted_identifier off set language us_english"
    " set transaction isolation level 0 set lock wait 2"
)
# What detects configuration changes, beside the collectors.
CHANGES = "changes"
# What reads sessions, if the caller asks for them, and seconds between two readings, however often it does.
SESSION_SNAPSHOT = "session_snapshot"
MIN_SESSION_INTERVAL = 2.0
# Seconds between two times that totals are written, if nothing has been counted that no later reading would show again.
SAVE_INTERVAL = 60.0
# What answers of other types and forms than the manual's lead to.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# Cluster Edition: the rows of all instances, told apart by InstanceID, whatever the server's default is.
CLUSTER_SETUP = "set system_view cluster"


class TargetScraper:
    """What a target keeps between scrapes: connection, plans, counters. For one thread at a time.

    ledger: decides about logins. totals: where those of counters are kept; None to start at 0 and keep nothing.
    raw_counters: totals start at the server's own values instead of 0. session_interval: seconds between two readings
    of sessions, at least. clock, open_connection: replaced by tests; all deadlines refer to `clock`.

    watch: finds changes of the configuration; None if none are looked for.
    """

    def __init__(
        self,
        settings: TargetSettings,
        catalogue: Catalogue,
        sysmon: "SysmonRunner | None" = None,
        ledger: LoginLedger | None = None,
        totals: TotalsFiles | None = None,
        *,
        raw_counters: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        open_connection: Opener[Connection] = Connection.open,
        session_interval: float = MIN_SESSION_INTERVAL,
    ) -> None:
        target, scrape = settings.target, settings.scrape
        self.name = target.name
        self._dumps = target.dumps
        self._databases: list[str] = []
        self.cost = Cost()
        self._clock = clock
        self._login: Login[Connection] = Login(
            Endpoint.of(target), settings.auth, open_connection, ledger=ledger, clock=clock
        )
        self._budget = Budget(target.budget or scrape.budget)
        text = "target %s: counters re-based, which leaves a gap: %s"
        self._counters = CounterStore(
            starts_at_raw=raw_counters, on_rebase=lambda why: log.warning(text, target.name, why)
        )
        self._totals = totals
        # When the totals were saved last (monotonic), and what had been counted then.
        self._saved: tuple[float, int] | None = None
        self._collector = ModuleCollector(
            target.name, settings.module, self._budget, scrape.recheck_interval, clock, self._counters
        )
        self._connect_timeout = scrape.connect_timeout
        self._catalogue = catalogue
        interval = settings.changes_interval
        self.watch = None if interval is None else ConfigWatcher(interval, clock)
        self._last_watch_reason = ""
        self._sysmon = sysmon
        self._sessions = SessionReader(session_interval, clock)
        self._connection: Connection | None = None
        self._facts: ServerFacts | None = None
        self._version = ""

    def scrape(self, result: ScrapeResult) -> None:
        """Fill the result. Never raises: every error ends up in the result."""
        result.series_limit = self._collector.module.series_limit
        try:
            self._read(result)
        except DatabaseError as error:
            self._fail(result, error.kind, str(error))
            # A connection that was only too slow is kept: logging in each time would be even slower.
            if not (error.usable and error.kind == "deadline"):
                self._drop_connection()
        except UserError as error:
            self._fail(result, "secret_unreadable", str(error))
        except Exception:
            self._fail_unexpectedly(result)
        result.ended = True
        try:
            self._save_totals_if_due()
            self._add_diagnostics(result)
        except Exception:
            self._fail_unexpectedly(result)

    def _read(self, result: ScrapeResult) -> None:
        if self._connection is None and result.is_late:
            # A login that our own deadline cuts off counts as one that may have been refused.
            raise DatabaseError("deadline", "the exporter was too busy to log in in time", usable=True)
        connection = self._ensure_connection(result)
        self._ensure_plan(result, connection)
        self._collector.read(result, connection)
        self._watch_configuration(result, connection)
        self._read_sessions(result, connection)

    def restore_totals(self) -> None:
        """Continue with the totals of the process before."""
        if self._totals:
            self._totals.restore(self.name, self._counters)

    def save_totals(self) -> None:
        """Keep all totals, after which nothing is counted any more."""
        if self._totals and self._saved:
            self._totals.save(self.name, self._counters, final=True)

    def _save_totals_if_due(self) -> None:
        """Save once a minute, and at once what no later reading would show again."""
        if self._totals is None:
            return
        now = self._clock.monotonic()
        at, witnessed = self._saved or (-math.inf, 0)
        if now - at >= SAVE_INTERVAL or self._counters.witnessed != witnessed:
            self._totals.save(self.name, self._counters)
            self._saved = now, self._counters.witnessed

    @property
    def connected(self) -> bool:
        """Whether there is a connection, which the server may have closed meanwhile."""
        return self._connection is not None

    @property
    def facts(self) -> ServerFacts | None:
        """What the plan was made from; None before the first login."""
        return self._facts

    @property
    def budget(self) -> float | None:
        """The share of one engine's time that scrapes may take; None for no limit."""
        return self._budget.share

    def stretches(self) -> dict[str, float]:
        """Collectors that are read less often to keep the budget, with how many times their own interval."""
        return {name: stretch for name, stretch in self._stretches() if stretch > 1}

    def _stretches(self) -> list[tuple[str, float]]:
        now = self._clock.monotonic()
        others = [(name, self._budget.stretch(name, now)) for name in (CHANGES, SESSION_SNAPSHOT)]
        return [*self._collector.stretches(), *others]

    def close(self) -> None:
        """Log out; the next scrape logs in again."""
        self._drop_connection()
        self._login.close()

    def _ensure_connection(self, result: ScrapeResult) -> Connection:
        if self._connection is None:
            limit = min(result.deadline, self._clock.monotonic() + self._connect_timeout)
            try:
                # Other logins to the same address are waited for.
                with TURN.given_up():
                    self._connection = self._login.open(limit)
            finally:
                self.cost.connects = self._login.attempts
            self._connection.cost = self.cost
            self._collector.forget_plan()
            self._connection.query(SESSION_SETUP, result.deadline)
            result.summary.up = True
            self._connection.detect_charset(TIMING.limit(result.deadline, self._clock))
        return self._connection

    def _ensure_plan(self, result: ScrapeResult, connection: Connection) -> None:
        if self._collector.is_planned:
            return

        def query(sql: str) -> list[Row]:
            rows = connection.query(sql, TIMING.limit(result.deadline, self._clock))
            result.summary.up = True
            return rows

        try:
            self._facts = facts = read_facts(query, self._facts)
            if facts.cluster:
                query(CLUSTER_SETUP)
            if self._collector.must_identify:
                self._collector.identify(*read_identity(query, facts))
        except UNREADABLE as error:
            raise DatabaseError("lost", f"an answer that cannot be read: {error}") from None
        self._login.note_mechanism(facts.authentication)
        self._collector.make_plan(self._catalogue, facts)
        self._version = str(facts.version)

    def _watch_configuration(self, result: ScrapeResult, connection: Connection) -> None:
        """Take a snapshot of the server's configuration if one is due, at the interval that the budget allows."""
        watch, asked = self.watch, result.request.collectors
        if watch is None or (asked is not None and CHANGES not in asked):
            return
        started, reason = self._clock.monotonic(), ""
        interval = self._budget.request(CHANGES, started, watch.interval)
        if not watch.due(interval):
            result.outcomes[CHANGES] = CollectorOutcome(0.0, self._last_watch_reason)
            return
        limit = started + (result.deadline - started) * TIMING.collector_share
        known = dict(watch.missing)
        try:
            result.config_snapshot = watch.take_snapshot(
                lambda sql: connection.query(sql, TIMING.limit(limit, self._clock)), limit
            )
        except DatabaseError as error:
            reason = error.kind
            raise
        finally:
            self._last_watch_reason = reason
            self._budget.record(CHANGES, watch.seconds)
            result.outcomes[CHANGES] = CollectorOutcome(watch.seconds, reason)
        for part in watch.missing.keys() - known.keys():
            log.warning("target %s: changes of %s are not seen: %s", self.name, part, watch.missing[part])

    def _read_sessions(self, result: ScrapeResult, connection: Connection) -> None:
        """Read who runs what, or show the last answer again while the budget does not allow another."""
        groups = result.request.session_groups
        if not groups or self._facts is None:
            return
        reader, started = self._sessions, self._clock.monotonic()
        interval = self._budget.request(SESSION_SNAPSHOT, started, reader.interval)
        if not reader.due(interval, groups):
            if reader.last:
                result.sessions = reader.last if TEXT in groups else reader.last.without_text()
            return
        limit = started + (result.deadline - started) * TIMING.collector_share
        try:
            result.sessions = reader.take(
                lambda sql: connection.query(sql, TIMING.limit(limit, self._clock)),
                self._facts,
                groups,
                limit,
            )
        except UNREADABLE as error:
            # What a server answers may not be what its manual says: that costs the sessions, not the scrape.
            log.warning("target %s: sessions cannot be read: %s", self.name, error)
        finally:
            self._budget.record(SESSION_SNAPSHOT, self._clock.monotonic() - started)

    def _change_detection(self) -> list[Family]:
        """What the last configuration snapshot took, and what it lacks."""
        if self.watch is None:
            return []
        unseen = [
            ((part, unavailable_reason(error.number) or error.kind), 1.0)
            for part, error in sorted(self.watch.missing.items())
        ]
        return [
            OWN.value("ase_exporter_changes_statements", self.watch.statements),
            OWN.value("ase_exporter_changes_seconds", self.watch.seconds),
            OWN.value("ase_exporter_changes_databases_refused", len(self.watch.refused_databases)),
            OWN.family("ase_exporter_changes_unseen", unseen),
        ]

    def _add_diagnostics(self, result: ScrapeResult) -> None:
        if self._connection is not None:
            self._connection.count_received()
        self.cost.scrapes += 1
        result.summary.version, result.facts = self._version, self._facts
        result.summary.name = self._facts.server_name if self._facts else ""
        result.sysmon_halted = self._sysmon is not None and self._sysmon.halted
        result.unavailable = dict(self._collector.unavailable)
        result.summary.unreadable = tuple(
            name for name, why in result.unavailable.items() if why in ("no_role", "switched_off")
        )
        result.diagnostics = [
            *self.cost.families(),
            *self._update_budget(result),
            *self._counters.families(),
            *self._dump_intervals(result),
            *(family for family in self._change_detection() if family.samples),
            OWN.value("ase_exporter_databases_left_out", len(self._collector.refused_databases.reasons)),
        ]
        if self._sysmon is not None and result.request.collectors is None:
            result.diagnostics += self._sysmon.families()

    def _update_budget(self, result: ScrapeResult) -> list[Family]:
        """Set the intervals for the coming scrapes; returns the budget's families."""
        cpu = session_cpu(result.collected.get("own_session", ()))
        if message := self._budget.update(self._clock.monotonic(), self.cost.statement_seconds, cpu):
            log.warning("target %s: %s", self.name, message, extra={"target": self.name})
        stretches = self._stretches()
        result.summary.stretched = sum(stretch > 1 for _, stretch in stretches)
        return self._budget.families(stretches)

    def _dump_intervals(self, result: ScrapeResult) -> list[Family]:
        """The configured intervals of dumps, for the databases of the last scrape that had any."""
        states = result.collected.get("database_states", ())
        if found := {labels[0] for family in states for labels, _ in family.samples}:
            self._databases = sorted(found)
        family = dump_intervals(self._dumps, self._databases)
        return [family] if family.samples else []

    def _fail(self, result: ScrapeResult, kind: str, text: str) -> None:
        result.error_kind, result.summary.error = kind, text
        log.warning("target %s: %s", self.name, text, extra={"target": self.name, "kind": kind})

    def _fail_unexpectedly(self, result: ScrapeResult) -> None:
        """A bug of the exporter must cost one target one scrape, not its thread."""
        log.exception("target %s: unexpected error", self.name)
        self._fail(result, "internal", "unexpected error, see the log")
        self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def dump_intervals(entries: Sequence[Dumps], databases: Iterable[str]) -> Family:
    """Seconds between two dumps of each database and of its log; 0 for never."""
    intervals: dict[tuple[str, str], float] = {}
    for database in databases:
        for entry in entries:
            if entry.databases and not any(fnmatchcase(database, each) for each in entry.databases):
                continue
            for dumped, interval in (("database", entry.database), ("log", entry.log)):
                if interval is not None:
                    intervals.setdefault((database, dumped), interval)
    return OWN.family("ase_dump_interval_seconds", intervals.items())
