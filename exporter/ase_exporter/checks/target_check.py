"""Checks one target: what its login cannot read, and what fails when it is read."""

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint, Opener, Row
from ase_exporter.ase.login import Login
from ase_exporter.catalogue import Catalogue, PlannedCollector, plan
from ase_exporter.catalogue.facts import ServerFacts, read_facts
from ase_exporter.catalogue.gaps import Gap, find_gaps
from ase_exporter.catalogue.model import Collector
from ase_exporter.changes.detect import MAX_DATABASES, ConfigWatcher
from ase_exporter.config import Config, Target
from ase_exporter.errors import UnreadableError, UserError
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.series_limits import limit_series
from ase_exporter.scraping.module_collector import PING
from ase_exporter.scraping.refused_databases import RefusedDatabases
from ase_exporter.scraping.target_scraper import CLUSTER_SETUP, SESSION_SETUP
from ase_exporter.sysmon import runner

# What the exporter sends: for what and when, in one line -> SQL.
Statements = dict[str, Sequence[str]]
_CHANGE_METRICS = ("ase_change_timestamp_seconds", "ase_changes_total")
# The share of the timeout that one collector may take, so that a slow one does not cost all others.
_COLLECTOR_SHARE = 0.25
# A local temporary database of Cluster Edition, which only its own instance opens: nothing to repair.
_OF_ANOTHER_INSTANCE = 969
# The proxy tables of versions before 15.0 are read through a server of the name loopback: 7205 (no connection to it),
# 11206 (the same before 15.0), 4050 (enable cis is off).
_CIS_MESSAGE = re.compile(r"loopback|component integration services|Msg (4050|7205|11206):", re.IGNORECASE)
_LOOPBACK_NOTE = (
    "before 15.0 ESD#2 monitoring tables are proxy tables: they need enable cis, and the server loopback"
    " (sp_addserver loopback, null, @@servername)"
)


@dataclass(frozen=True, slots=True)
class CollectorFailure:
    """What is wrong with what collectors read. note: its usual cause, '' if unknown. metrics: those that it costs."""

    message: str
    note: str
    collectors: tuple[str, ...]
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetReport:
    """The result for one target. executed: number of collectors.

    series: of one scrape without a limit, and how many of them the module's series_limit cuts.

    closed_databases: some of those that do not let the login in, with the server's message.
    """

    name: str
    login: str
    facts: ServerFacts
    gaps: Sequence[Gap]
    failures: Sequence[CollectorFailure]
    executed: int
    series: tuple[int, int]
    uses_sa_role: tuple[str, ...]
    closed_databases: tuple[tuple[str, DatabaseError], ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is missing that an administrator can fix, and everything else can be read."""
        return not (self.failures or any(gap.remedies or gap.note for gap in self.gaps))


def _unseen_changes(watch: ConfigWatcher) -> Iterator[CollectorFailure]:
    for part, error in watch.missing.items():
        note = f"changes of {part} are not seen; the exporter tries again, less and less often"
        yield CollectorFailure(str(error), note, ("changes",), _CHANGE_METRICS)


def _absent_columns(collector: Collector, facts: ServerFacts) -> list[str]:
    """The columns that a custom collector names and its table lacks, unless they have a fallback."""
    present = {column.lower() for column in facts.tables.get(collector.table or "", {})}
    if not present:
        return []
    optional = {"InstanceID"}
    for metric in collector.metrics.values():
        if metric.fallback:
            optional.update(metric.all_sources())
    return [name for name in collector.all_columns() if name not in optional and name.lower() not in present]


def usual_cause(message: str) -> str:
    """What a server's message usually means, if it does not say so itself; else ''."""
    return _LOOPBACK_NOTE if _CIS_MESSAGE.search(message) else ""


class Querying(Protocol):
    """What a check needs of a connection."""

    def query(self, sql: str, deadline: float) -> list[Row]: ...
    def close(self) -> None: ...


class TargetCheck:
    """A connection to one target, opened again if a statement costs it. Not for the main thread.

    everything: also the collectors that the configuration leaves off. timeout: seconds for everything together.
    open_connection: in place of a login.
    Raises UserError if the target cannot be reached.
    """

    def __init__(
        self,
        config: Config,
        target: Target,
        catalogue: Catalogue,
        *,
        everything: bool,
        timeout: float,
        open_connection: Opener[Querying] = Connection.open,
    ) -> None:
        self._config = config
        self._target = target
        self._auth = config.auth[target.auth]
        self._catalogue = catalogue
        module = config.module(target.module)
        self._top = module.top
        self._selection = dict.fromkeys(catalogue.collectors, True) if everything else dict(module.collectors)
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._limit = self._deadline
        self._open_connection = open_connection
        self._connection: Querying | None = None
        self._sent: list[str] = []
        self._series_limit = module.series_limit
        self._collected: dict[str, list[Family]] = {}

    def report(self) -> TargetReport:
        """Read the facts, then execute every collector once."""
        try:
            facts = self._read_facts()
            planned = [each for each in self._plan(facts) if each.available]
            failures = [*self._misspelt(planned, facts), *self._execute(planned)]
            watch = self._watch_once()
        finally:
            self._close()
        return TargetReport(
            name=self._target.name,
            login=self._auth.user,
            facts=facts,
            gaps=find_gaps(self._catalogue, facts, self._selection, self._auth.user),
            failures=[*failures, *_unseen_changes(watch)],
            closed_databases=tuple(watch.refused_databases.items()),
            executed=len(planned),
            series=self._series(),
            uses_sa_role=tuple(
                each.name for each in planned if "sa_role" in self._catalogue.collectors[each.name].roles
            ),
        )

    def _series(self) -> tuple[int, int]:
        def count(families: Iterable[Family]) -> int:
            return sum(len(each.samples) for each in families if each.name != "ase_exporter_series_cut")

        all_of_them = count(chain.from_iterable(self._collected.values()))
        return all_of_them, all_of_them - count(limit_series(self._collected, self._series_limit))

    def _watch_once(self) -> ConfigWatcher:
        """What has taken one snapshot of the configuration, if changes are detected at all."""
        watch = ConfigWatcher(self._config.changes.interval, max_refused=MAX_DATABASES)
        if self._config.changes.enabled:
            self._limit = self._deadline
            with contextlib.suppress(DatabaseError):
                watch.take_snapshot(self._query, self._deadline)
        return watch

    def script(self) -> str:
        """The statements as a script for isql, with a comment before each."""
        facts, statements = self.statements()
        lines = [
            f"-- What ase-exporter sends to {self._target.name}, ASE {facts.version}. All of it only reads."
        ]
        for title, found in statements.items():
            lines += [f"\n-- {title}", *(f"{sql}\ngo" for sql in found)]
        return "\n".join(lines)

    def statements(self) -> tuple[ServerFacts, Statements]:
        """Everything that the exporter sends to this server, once all roles are granted and all options on."""
        try:
            facts = self._read_facts()
            setup, *after_login = self._take_sent()
            found: Statements = {
                "after each login": (setup,),
                "after each login, then every hour": after_login,
                **dict(self._collector_statements(facts)),
            }
            if self._config.changes.enabled:
                self._watch_once()
                title = f"configuration changes: every {self._config.changes.interval:g} s"
                found[title] = self._take_sent()
            found["when no collector is due: whether the server is up"] = (PING,)
            if settings := self._target.sysmon:
                login = self._config.auth[settings.auth].user
                title = (
                    f"sp_sysmon, by login {login} on a connection of its own: every {settings.interval:g} s"
                )
                found[title] = (runner.OTHERS, runner.statement(int(settings.duration)))
            return facts, found
        finally:
            self._close()

    def _collector_statements(self, facts: ServerFacts) -> Iterator[tuple[str, Sequence[str]]]:
        obstacles = {each.name: each.detail for each in self._plan(facts)}
        roles = {role for each in self._catalogue.collectors.values() for role in each.roles}
        for each in self._plan(replace(facts, roles=frozenset(roles), options={})):
            pace = f"at most every {each.interval:g} s" if each.interval else "in every scrape"
            if not each.available:
                yield f"collector {each.name}: never on this server: {each.detail}", ()
            elif obstacle := obstacles[each.name]:
                yield f"collector {each.name}: {pace}, but not yet: {obstacle}", (each.statement,)
            else:
                yield f"collector {each.name}: {pace}", (each.statement,)

    def _plan(self, facts: ServerFacts) -> list[PlannedCollector]:
        return plan(self._catalogue, facts, self._selection, self._top)

    def _read_facts(self) -> ServerFacts:
        try:
            facts = read_facts(self._query)
            if facts.cluster:
                self._query(CLUSTER_SETUP)
            return facts
        except (DatabaseError, UserError) as error:
            raise UserError(f"target {self._target.name}: {error}") from error

    def _misspelt(
        self, planned: Sequence[PlannedCollector], facts: ServerFacts
    ) -> Iterator[CollectorFailure]:
        """Columns that custom collectors name and this server lacks: they would silently be left out."""
        for name in (each.name for each in planned if each.name in self._catalogue.custom):
            collector = self._catalogue.collectors[name]
            for column in _absent_columns(collector, facts):
                message = f"{collector.table} has no column {column}"
                yield CollectorFailure(message, "", (name,), tuple(collector.metrics))

    def _execute(self, planned: Sequence[PlannedCollector]) -> list[CollectorFailure]:
        """Execute each collector's statements once; returns what failed, by message.

        A column of another type costs its metrics, and not the collector.
        """
        counters = CounterStore()
        failed: dict[str, list[str]] = {}
        refused = RefusedDatabases(self._target.name)
        for collector in planned:
            self._limit = min(self._deadline, time.monotonic() + self._timeout * _COLLECTOR_SHARE)

            def note(problem: str, name: str = collector.name) -> None:
                failed.setdefault(problem, []).append(name)

            try:
                rows = refused.ask(collector, self._query)
                self._collected[collector.name] = collector.families(rows, counters, time.monotonic(), note)
            except (UnreadableError, DatabaseError) as error:
                note(str(error))
                if isinstance(error, DatabaseError) and not error.usable:
                    self._close()
        closed = [
            CollectorFailure(
                str(error),
                f"the free space of {name} is not known; that of the other databases is",
                ("database_space",),
                ("ase_database_free_bytes",),
            )
            for name, error in refused.reasons.items()
            if error.number != _OF_ANOTHER_INSTANCE
        ]
        read = {each.name for families in self._collected.values() for each in families if each.samples}
        return closed + [
            CollectorFailure(
                message,
                usual_cause(message),
                tuple(names),
                tuple(
                    metric
                    for name in names
                    for metric in self._catalogue.collectors[name].metrics
                    if metric not in read
                ),
            )
            for message, names in failed.items()
        ]

    def _query(self, sql: str) -> list[Row]:
        if self._connection is None:
            login = Login(Endpoint.of(self._target), self._auth, self._open_connection)
            self._connection = login.open(self._deadline)
            self._sent.append(SESSION_SETUP)
            self._connection.query(SESSION_SETUP, self._limit)
        self._sent.append(sql)
        return self._connection.query(sql, self._limit)

    def _take_sent(self) -> list[str]:
        """The statements sent since the last call, without repetitions."""
        sent, self._sent = list(dict.fromkeys(self._sent)), []
        return sent

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
