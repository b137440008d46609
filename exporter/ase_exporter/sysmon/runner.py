"""Runs sp_sysmon on its own connection, login and schedule.

sp_sysmon can reset counters that other tools read. Every call asks for `noclear`, the Sample Mode of the report is
checked, and a server that cleared them nevertheless is not sampled again. A server is never sampled twice at once.
"""

import logging
import random
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Protocol

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint, Opener, Row
from ase_exporter.ase.login import Login
from ase_exporter.ase.login_ledger import LedgerClient
from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth, Target
from ase_exporter.config.sysmon import SECTION_KEYWORDS, SysmonSettings
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.metrics.families import Family, single
from ase_exporter.sysmon.metrics import cleared_counters, families
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
    """A sample failed. reason: one word, used as a label value."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Printing(Protocol):
    """The part of a connection that is used."""

    def query(self, sql: str, deadline: float) -> list[Row]: ...
    def query_messages(self, sql: str, deadline: float) -> list[str]: ...
    def close(self) -> None: ...


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
    open_connection: Opener[Printing] = Connection.open,
) -> Report:
    """Run sp_sysmon once and read its report. Not for the main thread. Raises SampleError, UserError."""
    login = Login(Endpoint.of(target), auth, open_connection, program=PROGRAM)
    return _take_sample(target, login, seconds, section, SYSTEM_CLOCK)


def _take_sample(
    target: Target, login: Login[Printing], seconds: int, section: str | None, clock: Clock
) -> Report:
    lock = _under_way[target.host, target.port]
    if not lock.acquire(blocking=False):
        raise SampleError("busy", f"{target.name}: another sample of this server is under way")
    try:
        return _sample(target, login, seconds, section, clock)
    except DatabaseError as error:
        raise SampleError(error.kind, f"{target.name}: {error}") from error
    finally:
        lock.release()


def _sample(
    target: Target, login: Login[Printing], seconds: int, section: str | None, clock: Clock
) -> Report:
    now = clock.monotonic()
    connection = login.open(now + CONNECTING)
    try:
        others = connection.query(OTHERS, now + 2 * CONNECTING)
        if others and others[0][0]:
            raise SampleError("busy", f"{target.name}: another exporter is taking a sample of this server")
        lines = connection.query_messages(statement(seconds, section), clock.monotonic() + seconds + PRINTING)
    finally:
        connection.close()
    try:
        report = parse("\n".join(lines), only=SECTION_KEYWORDS.get(section or "", ""))
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
    """Outcome counts and the last sample. ended: seconds since the epoch."""

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
        open_connection: Opener[Printing] = Connection.open,
        ledger: LedgerClient | None = None,
        clock: Clock = SYSTEM_CLOCK,
        timing: Timing = TIMING,
        halted: bool = False,
    ) -> None:
        """ledger: decides about logins. halted: a worker before this one found that sp_sysmon clears counters."""
        self.halted = halted
        self._target = target
        self._login: Login[Printing] = Login(
            Endpoint.of(target),
            auth,
            open_connection,
            program=PROGRAM,
            ledger=ledger,
            clock=clock,
            timing=timing,
        )
        self._settings = settings
        self._clock = clock
        self._state = _State()
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin the schedule, in a thread of its own, unless sp_sysmon is switched off."""
        if self.halted:
            return
        threading.Thread(target=self._loop, name=f"sysmon {self._target.name}", daemon=True).start()

    def stop(self) -> None:
        """Take no further sample; a running one is not interrupted."""
        self._stopped.set()

    def families(self) -> list[Family]:
        """Outcome counts, and the last sample until it is stale."""
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
        if state.report and self._clock.time() - state.ended < STALE_AFTER * self._settings.interval:
            found += families(
                state.report, self._settings.detail_sections, ended=state.ended, now=self._clock.time()
            )
        return found

    def run_once(self) -> str:
        """One sample; the outcome. Never raises."""
        report: Report | None = None
        try:
            report = _take_sample(self._target, self._login, int(self._settings.duration), None, self._clock)
            outcome = "ok"
        except SampleError as error:
            outcome = error.reason
            log.warning("target %s: sysmon: %s", self._target.name, error)
        except UserError as error:
            outcome = "secret_unreadable"
            log.warning("target %s: sysmon: %s", self._target.name, error)
        except Exception:
            # A bug must cost a sample, not the schedule.
            outcome = "internal"
            log.exception("target %s: sysmon: unexpected error", self._target.name)
        with self._lock:
            self._state.outcomes[outcome] = self._state.outcomes.get(outcome, 0) + 1
            self._state.success = report is not None
            if report is not None:
                self._state.report, self._state.ended = report, self._clock.time()
        return outcome

    def _loop(self) -> None:
        pause = random.uniform(0.0, min(FIRST_WITHIN, self._settings.interval))
        while not self._stopped.wait(pause):
            started = self._clock.monotonic()
            if self.run_once() in _HALTING:
                self.halted = True
                log.error(
                    "target %s: sysmon: switched off until the exporter is restarted", self._target.name
                )
                return
            pause = max(self._settings.interval - (self._clock.monotonic() - started), 0.0)
