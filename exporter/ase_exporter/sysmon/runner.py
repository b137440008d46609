"""Runs sp_sysmon on its own connection, login and schedule.

sp_sysmon can reset counters that other tools read. Every call asks for `noclear`, the Sample Mode of the report is
checked, and a server that cleared them nevertheless is not sampled again. A server is never sampled twice at once.
"""

import logging
import random
import threading
import time
from collections import Counter, defaultdict
from contextlib import closing
from typing import Any, Protocol

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint, Opener, Row
from ase_exporter.ase.login import Login
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth, Target
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.metrics.families import Family
from ase_exporter.sysmon.metrics import SYSMON, cleared_counters, families
from ase_exporter.sysmon.report import NotAReportError, parse
from ase_exporter.sysmon.structure import Report

log = logging.getLogger(__name__)

PROGRAM = "ase-exporter-sysmon"
# sysprocesses.program_name has 16 characters before 15.0.
OTHERS = (
    f"select count(*) from master..sysprocesses where program_name like '{PROGRAM[:16]}%' and spid != @@spid"
)

# Beyond the interval: the report of a large server has tens of thousands of lines.
PRINTING = 60.0
CONNECTING = 10.0
# Spread the first samples of targets that start together.
FIRST_WITHIN = 60.0
# A sample older than this many intervals is no longer exported.
STALE_AFTER = 3

_HALTING = ("cleared_counters", "mode_unknown")
_under_way: defaultdict[tuple[str, int], threading.Lock] = defaultdict(threading.Lock)


class SampleError(AseExporterError):
    """A sample of a target failed. reason: one word, used as a label value."""

    def __init__(self, target: Target, reason: str, text: str) -> None:
        super().__init__(f"{target.name}: {text}")
        self.reason = reason


class Printing(Protocol):
    """The part of a connection that is used."""

    def query(self, sql: str, deadline: float) -> list[Row]: ...
    def query_messages(self, sql: str, deadline: float) -> list[str]: ...
    def close(self) -> None: ...


def statement(seconds: int) -> str:
    """The call for a sample of that many seconds: never one that clears."""
    interval = f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
    return f"sp_sysmon '{interval}', 'noclear'"


def take_sample(
    target: Target, auth: Auth, seconds: int, open_connection: Opener[Printing] = Connection.open
) -> Report:
    """Run sp_sysmon once and read its report. Not for the main thread. Raises SampleError, UserError."""
    lines = print_sample(target, login_for(target, auth, open_connection), seconds)
    return read_sample(target, lines)


def login_for(
    target: Target, auth: Auth, open_connection: Opener[Printing] = Connection.open, **more: Any
) -> Login[Printing]:
    """The login of its own that a sample is taken with."""
    return Login(Endpoint.of(target), auth, open_connection, program=PROGRAM, **more)


def read_sample(target: Target, lines: list[str]) -> Report:
    """The report that a run printed. Raises SampleError."""
    try:
        report = parse("\n".join(lines))
    except NotAReportError:
        said = next((line.strip() for line in lines if line.strip()), "nothing")
        raise SampleError(target, "refused", f"sp_sysmon printed no report, but: {said}") from None
    if cleared_counters(report):
        raise SampleError(target, "cleared_counters", "sp_sysmon cleared the counters although asked not to")
    if not report.header.mode:
        lacks = "the report has no Sample Mode: this version cannot be kept from clearing"
        raise SampleError(target, "mode_unknown", lacks)
    return report


def print_sample(target: Target, login: Login[Printing], seconds: int) -> list[str]:
    """Run sp_sysmon once; the lines that it prints. Not for the main thread. Raises SampleError, UserError."""
    lock = _under_way[target.host, target.port]
    if not lock.acquire(blocking=False):
        raise SampleError(target, "busy", "another sample of this server is under way")
    now = time.monotonic()
    try:
        with closing(login.open(now + CONNECTING)) as connection:
            others = connection.query(OTHERS, now + 2 * CONNECTING)
            if others and others[0][0]:
                raise SampleError(target, "busy", "another exporter is taking a sample of this server")
            return connection.query_messages(statement(seconds), time.monotonic() + seconds + PRINTING)
    except DatabaseError as error:
        raise SampleError(target, error.kind, str(error)) from error
    finally:
        lock.release()


class SysmonRunner:
    """The schedule of one target."""

    def __init__(
        self,
        target: Target,
        auth: Auth,
        settings: SysmonSettings,
        open_connection: Opener[Printing] = Connection.open,
        ledger: LoginLedger | None = None,
        clock: Clock = SYSTEM_CLOCK,
        halted: bool = False,
    ) -> None:
        """ledger: decides about logins. halted: the process before this one found that sp_sysmon clears counters."""
        self.halted = halted
        self._target = target
        self._login = login_for(target, auth, open_connection, ledger=ledger, clock=clock)
        self._settings = settings
        self._clock = clock
        self._outcomes: Counter[str] = Counter()
        self._success: bool | None = None
        # The last report, and when its sample ended in seconds since the epoch.
        self._last: tuple[Report, float] | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start the schedule in its own thread, unless sp_sysmon is switched off."""
        if self.halted:
            return
        threading.Thread(target=self._loop, name=f"sysmon {self._target.name}", daemon=True).start()

    def stop(self) -> None:
        """Take no further sample; a running one is not interrupted."""
        self._stopped.set()

    def families(self) -> list[Family]:
        """Outcome counts, and the last sample until it is stale."""
        with self._lock:
            runs, success, last = sorted(self._outcomes.items()), self._success, self._last
        now = self._clock.time()
        found = [SYSMON.family("ase_sysmon_runs_total", [((outcome,), count) for outcome, count in runs])]
        if success is not None:
            found.append(SYSMON.value("ase_sysmon_last_run_success", success))
        if last and now - last[1] < STALE_AFTER * self._settings.interval:
            found += families(last[0], ended=last[1], now=now)
        return found

    def run_once(self) -> str:
        """One sample; the outcome. Never raises."""
        report: Report | None = None
        try:
            lines = print_sample(self._target, self._login, int(self._settings.duration))
            report = read_sample(self._target, lines)
            outcome = "ok"
        except (SampleError, UserError) as error:
            outcome = error.reason if isinstance(error, SampleError) else "secret_unreadable"
            log.warning("target %s: sysmon: %s", self._target.name, error)
        except Exception:
            # A bug must cost a sample, not the schedule.
            outcome = "internal"
            log.exception("target %s: sysmon: unexpected error", self._target.name)
        with self._lock:
            self._outcomes[outcome] += 1
            self._success = report is not None
            if report is not None:
                self._last = report, self._clock.time()
        return outcome

    def _loop(self) -> None:
        pause = random.uniform(0.0, min(FIRST_WITHIN, self._settings.interval))
        while not self._stopped.wait(pause):
            started = self._clock.monotonic()
            if self.run_once() in _HALTING:
                self.halted = True
                name = self._target.name
                log.error("target %s: sysmon: switched off until the exporter is restarted", name)
                return
            pause = max(self._settings.interval - (self._clock.monotonic() - started), 0.0)
