"""One scrape of one target: connect if needed, plan if needed, read, look for changes, say how it went.

A deadline bounds it all: what was read by then is the answer.
"""

import logging
import time
from collections.abc import Mapping

from ase_exporter import memory
from ase_exporter.catalogue import Catalogue, read_facts
from ase_exporter.changes.detect import Watch
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.connection import Connection, DatabaseError, Endpoint
from ase_exporter.cost import Budget, Cost, session_cpu
from ase_exporter.errors import UserError
from ase_exporter.families import Family
from ase_exporter.reading import COLLECTOR_SHARE, Reading
from ase_exporter.refusal import Refusal, Refusals, refused
from ase_exporter.run import Outcome, Run
from ase_exporter.session import Session
from ase_exporter.sysmon.runner import SysmonRunner

log = logging.getLogger(__name__)

SESSION_SETUP = "set quoted_identifier off set language us_english"


class TargetScraper:
    """What a target has between scrapes: connection, plans, counters. For one thread at a time.

    module: what is read where a scrape names no other; modules: the others, by name. refusal: what another
    process knew of the login.
    """

    def __init__(
        self,
        target: Target,
        auth: Auth,
        module: Module,
        scrape: Scrape,
        catalogue: Catalogue,
        watch: Watch | None = None,
        sysmon: SysmonRunner | None = None,
        modules: Mapping[str, Module] | None = None,
        refusal: Refusal | None = None,
    ) -> None:
        self.name = target.name
        self._endpoint = Endpoint(target.host, target.port, target.charset, target.encrypt_password)
        self._auth = auth
        self.cost = Cost()
        self._budget = Budget(target.budget or scrape.budget)

        def reading(module: Module) -> Reading:
            return Reading(target.name, module, self._budget, scrape.recheck)

        self._reading = reading(module)
        self._readings = {name: reading(other) for name, other in (modules or {}).items()}
        self._readings |= {"": self._reading, target.module: self._reading}
        self._limits = scrape
        self._catalogue = catalogue
        self._watch = watch
        self._last_look = ""
        self._sysmon = sysmon
        self._session: Session | None = None
        self._refusal = refusal
        self._version = ""

    def scrape(self, run: Run) -> None:
        """Fill `run`. Never raises: errors of any kind end up in it."""
        self._reading = self._readings[run.module]
        run.series_limit = self._reading.module.series_limit
        try:
            session = self._ensure_session(run)
            self._ensure_plan(run, session)
            self._reading.read(run, session)
            self._look(run, session)
        except DatabaseError as error:
            self._fail(run, error.kind, str(error))
            # Who was only too slow keeps the connection: to begin anew each time would never come to an end.
            if not (error.usable and error.kind == "deadline"):
                self._drop_session()
        except UserError as error:
            self._fail(run, "secret_unreadable", str(error))
        except Exception:
            # A defect of ours must cost one target one scrape, not the worker.
            log.exception("target %s: unexpected error", self.name)
            self._fail(run, "internal", "unexpected error, see the log")
            self._drop_session()
        if self._session is not None:
            self._session.count_received()
        self.cost.scrapes += 1
        run.version = self._version
        run.refusals = Refusals(self._refusal, self._sysmon.refusal if self._sysmon else None)
        run.unavailable = dict(self._reading.unavailable)
        run.own = [*self.cost.families(), *self._keep_budget(run), *self._reading.counters.families()]
        if self._sysmon is not None and run.collectors is None:
            run.own += self._sysmon.families()

    @property
    def connected(self) -> bool:
        """Whether there is a connection, which may have been lost meanwhile."""
        return self._session is not None

    def close(self) -> None:
        """Log out; the next scrape logs in again."""
        self._drop_session()

    def _fail(self, run: Run, kind: str, text: str) -> None:
        run.error_kind, run.error = kind, text
        log.warning("target %s: %s", self.name, text, extra={"target": self.name, "kind": kind})

    def _ensure_session(self, run: Run) -> Session:
        if self._session is None:
            self._session = Session(self._connect(run.deadline), self.cost)
            for reading in self._readings.values():
                reading.forget_plan()
            self._session.query(SESSION_SETUP, run.deadline)
        return self._session

    def _ensure_plan(self, run: Run, session: Session) -> None:
        if self._reading.is_planned:
            return
        facts = read_facts(lambda sql: session.query(sql, run.deadline))
        self._reading.make_plan(self._catalogue, facts)
        self._version = str(facts.version)
        memory.give_back()
        run.up = True

    def _connect(self, deadline: float) -> Connection:
        password = self._auth.read_password()
        why = self._refusal.forbids(password, time.monotonic()) if self._refusal else ""
        if why:
            raise DatabaseError("login_suspended", f"login {self._auth.user} {why}")
        self.cost.connects += 1
        limit = min(deadline, time.monotonic() + self._limits.connect_timeout)
        try:
            connection = Connection.open(self._endpoint, self._auth.user, password, deadline=limit)
        except DatabaseError as error:
            if error.kind in ("login_failed", "login_locked"):
                self._refusal = refused(self._refusal, password, time.monotonic())
            raise
        self._refusal = None
        return connection

    def _drop_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _keep_budget(self, run: Run) -> list[Family]:
        """Set the intervals for the scrapes to come; what there is to say of it."""
        own = self._reading is self._readings[""]
        cpu = session_cpu(run.collected.get("own_session", ())) if own else None
        now = time.monotonic()
        if news := self._budget.settle(now, self.cost.seconds, cpu):
            log.warning("target %s: %s", self.name, news, extra={"target": self.name})
        stretched = self._reading.stretched()
        run.stretched = sum(times > 1 for _, times in stretched)
        return self._budget.families(stretched)

    def _look(self, run: Run, session: Session) -> None:
        """Look for changes of the configuration when it is time to."""
        if self._watch is None or run.collectors is not None:
            return
        if not self._watch.due():
            run.outcomes["changes"] = Outcome(0.0, self._last_look)
            return
        started, reason = time.monotonic(), ""
        limit = started + (run.deadline - started) * COLLECTOR_SHARE
        try:
            run.look = self._watch.look(lambda sql: session.query(sql, limit))
        except DatabaseError as error:
            reason = error.kind
            if not error.usable:
                raise
            log.warning("target %s: looking for changes: %s", self.name, error)
        finally:
            self._last_look = reason
            run.outcomes["changes"] = Outcome(time.monotonic() - started, reason)
