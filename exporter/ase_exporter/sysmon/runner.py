"""Runs sp_sysmon: on a connection, a login and a schedule of its own, never clearing, never two at once.

sp_sysmon can reset the counters that everybody reads. So it is always asked not to, the report is checked for
what it did, and a server that cleared them nevertheless is not asked again.
"""

import logging
import random
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Protocol

from ase_exporter.config import Auth, Target
from ase_exporter.connection import Connection, DatabaseError, Endpoint, Row
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.families import Family, single
from ase_exporter.refusal import Refusal, refused
from ase_exporter.sysmon.metrics import cleared_counters, families
from ase_exporter.sysmon.report import NotAReportError, parse
from ase_exporter.sysmon.settings import SysmonSettings
from ase_exporter.sysmon.structure import Report

log = logging.getLogger(__name__)

PROGRAM = "ase-exporter-sysmon"
OTHERS = f"select count(*) from master..sysprocesses where program_name = '{PROGRAM}' and spid != @@spid"

# Beyond the interval: the report of a large server has tens of thousands of lines.
PRINTING = 60.0
CONNECTING = 10.0
# Servers that are started together are not sampled together.
FIRST_WITHIN = 60.0
# A sample is of the past after this many intervals, and is no longer shown.
STALE_AFTER = 3

_HALTING = ("cleared_counters", "mode_unknown")
_under_way: defaultdict[tuple[str, int], threading.Lock] = defaultdict(threading.Lock)


class SampleError(AseExporterError):
    """Why there is no sample. reason: one word, for a metric."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Printing(Protocol):
    """What is needed of a connection."""

    def query(self, sql: str, deadline: float) -> list[Row]: ...
    def printed(self, sql: str, deadline: float) -> list[str]: ...
    def close(self) -> None: ...


class Opener(Protocol):
    """Logs in, as Connection.open does."""

    def __call__(
        self, endpoint: Endpoint, user: str, password: str, *, deadline: float, program: str
    ) -> Printing: ...


def statement(seconds: int, section: str | None = None) -> str:
    """The call for a sample of that many seconds: never one that clears."""
    interval = f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
    arguments = [interval, *([section] if section else []), "noclear"]
    return "sp_sysmon " + ", ".join(f"'{argument}'" for argument in arguments)


def take_sample(
    target: Target,
    auth: Auth,
    seconds: int,
    section: str | None = None,
    open_connection: Opener = Connection.open,
) -> Report:
    """Run sp_sysmon once and read its report. Not for the main thread. Raises SampleError, UserError."""
    lock = _under_way[target.host, target.port]
    if not lock.acquire(blocking=False):
        raise SampleError("busy", f"{target.name}: another sample of this server is under way")
    try:
        return _sample(target, auth, statement(seconds, section), seconds, open_connection)
    except DatabaseError as error:
        raise SampleError(error.kind, f"{target.name}: {error}") from error
    finally:
        lock.release()


def _sample(target: Target, auth: Auth, sql: str, seconds: int, open_connection: Opener) -> Report:
    endpoint = Endpoint(target.host, target.port, target.charset, target.encrypt_password)
    now = time.monotonic()
    connection = open_connection(
        endpoint, auth.user, auth.read_password(), deadline=now + CONNECTING, program=PROGRAM
    )
    try:
        others = connection.query(OTHERS, now + 2 * CONNECTING)
        if others and others[0][0]:
            raise SampleError("busy", f"{target.name}: another exporter is taking a sample of this server")
        lines = connection.printed(sql, time.monotonic() + seconds + PRINTING)
    finally:
        connection.close()
    try:
        report = parse("\n".join(lines))
    except NotAReportError:
        said = next((line.strip() for line in lines if line.strip()), "nothing")
        raise SampleError("refused", f"{target.name}: sp_sysmon printed no report, but: {said}") from None
    if cleared_counters(report):
        raise SampleError(
            "cleared_counters", f"{target.name}: sp_sysmon cleared the counters although asked not to"
        )
    if not report.header.mode:
        raise SampleError(
            "mode_unknown",
            f"{target.name}: the report has no Sample Mode: this version cannot be kept from clearing",
        )
    return report


@dataclass(slots=True)
class _State:
    """What the schedule has to show. ended: seconds since the epoch."""

    outcomes: dict[str, int] = field(default_factory=dict)
    success: bool | None = None
    report: Report | None = None
    ended: float = 0.0


class SysmonRunner:
    """The schedule of one target."""

    def __init__(
        self,
        target: Target,
        auth: Auth,
        settings: SysmonSettings,
        open_connection: Opener = Connection.open,
        refusal: Refusal | None = None,
    ) -> None:
        """refusal: what another process knew of the login."""
        self._target = target
        self._auth = auth
        self._settings = settings
        self._open = open_connection
        self._state = _State()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.refusal = refusal

    def start(self) -> None:
        """Begin the schedule, in a thread of its own."""
        threading.Thread(target=self._loop, name=f"sysmon {self._target.name}", daemon=True).start()

    def stop(self) -> None:
        """No further sample; one under way is left to its end."""
        self._stopped.set()

    def families(self) -> list[Family]:
        """How the schedule goes, and the last sample while it is fresh."""
        with self._lock:
            state = _State(
                dict(self._state.outcomes), self._state.success, self._state.report, self._state.ended
            )
        runs = Family(
            "ase_sysmon_runs_total",
            "counter",
            "Runs of sp_sysmon on its schedule by outcome: ok, or why there was no sample.",
            ("outcome",),
        )
        for outcome, count in sorted(state.outcomes.items()):
            runs.add(count, outcome)
        found = [runs]
        if state.success is not None:
            found.append(
                single(
                    "ase_sysmon_last_run_success",
                    "gauge",
                    "1 if the last run of sp_sysmon on its schedule gave a sample, else 0.",
                    float(state.success),
                )
            )
        if state.report and time.time() - state.ended < STALE_AFTER * self._settings.every:
            found += families(state.report, self._settings.cells, ended=state.ended)
        return found

    def run_once(self) -> str:
        """One sample; the outcome. Never raises."""
        report: Report | None = None
        try:
            report = self._sample()
            outcome = "ok"
        except SampleError as error:
            outcome = error.reason
            log.warning("target %s: sysmon: %s", self._target.name, error)
        except UserError as error:
            outcome = "secret_unreadable"
            log.warning("target %s: sysmon: %s", self._target.name, error)
        except Exception:
            # A defect of ours must cost a sample, not the schedule.
            outcome = "internal"
            log.exception("target %s: sysmon: unexpected error", self._target.name)
        with self._lock:
            self._state.outcomes[outcome] = self._state.outcomes.get(outcome, 0) + 1
            self._state.success = report is not None
            if report is not None:
                self._state.report, self._state.ended = report, time.time()
        return outcome

    def _sample(self) -> Report:
        password = self._auth.read_password()
        why = self.refusal.forbids(password, time.monotonic()) if self.refusal else ""
        if why:
            raise SampleError("login_suspended", f"login {self._auth.user} {why}")
        try:
            report = take_sample(
                self._target, self._auth, int(self._settings.sample), open_connection=self._open
            )
        except SampleError as error:
            if error.reason in ("login_failed", "login_locked"):
                self.refusal = refused(self.refusal, password, time.monotonic())
            raise
        self.refusal = None
        return report

    def _loop(self) -> None:
        pause = random.uniform(0.0, min(FIRST_WITHIN, self._settings.every))
        while not self._stopped.wait(pause):
            started = time.monotonic()
            if self.run_once() in _HALTING:
                log.error(
                    "target %s: sysmon: switched off until the exporter is restarted", self._target.name
                )
                return
            pause = max(self._settings.every - (time.monotonic() - started), 0.0)
