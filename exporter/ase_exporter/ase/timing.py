"""All timing constants of the deadline path: what happens, and when, if a server or a process does not answer.

A scrape with the deadline D ends in this order. Each step is for the case that the one before did not help.

    until D            The statements of a collector that is read alone, and each select of the server's facts, get
                       `collector_share` of the time that is left, but at least `min_collector_seconds`, so that
                       what comes after a slow one is read.
    D                  The watchdog cancels the statement; the server is asked to stop it and the connection stays.
                       (A login cannot be cancelled: its socket is shut down `login_lead` before its timeout.)
    D + late_after     The web server answers with what was read so far; a caller with little time gets it sooner.
    D + cancel_grace   The watchdog shuts the socket down. The driver returns, the connection is lost.
    + stuck_after      The process ends, and its supervisor starts another: the driver hangs for good.
"""

from dataclasses import dataclass

from ase_exporter.clock import Clock


@dataclass(slots=True, kw_only=True)
class Timing:
    """Seconds, except `collector_share`. Tests replace single values; nothing else does.

    min_call_seconds: every call of the driver gets at least this, even after the deadline: a thread that had to
    wait for the CPU may still fetch what has arrived, as a new login would cost more.
    late_after, cancel_grace, stuck_after: see above. A lower stuck_after would be wrong: with many targets and little
    CPU every thread is late, and logging in everywhere again costs still more.
    login_stuck_after: the same for a login, which cannot be cancelled.
    login_alone: after which others may log in at the address of a login that lasts: its socket has been found by then.
    login_lead: the distance to FreeTDS's own login timeout, after which the driver would block for ever.
    confirm_wait: for the answer to the first statement after a login, even after the deadline: a target that is cut off
    twice by our own deadline would be suspended for an hour.
    login_pause: between two attempts with a refused password.
    accepted_login_wait: for the answer to a login with a password that the server accepted before, after which it is
    sent again. Any other password waits for as long as the connection lives: see `login`.
    starved_after: a timer that is this late means that the process gets no CPU, which says nothing about the driver.
    crash_pause: before a target is scraped again that had a call under way at two deaths of the process in a row;
    doubled each time, up to max_crash_pause.
    stop_timeout: for all threads to end when the exporter does.
    """

    collector_share: float = 0.6
    min_collector_seconds: float = 1.0
    min_call_seconds: float = 0.1
    login_alone: float = 0.2
    login_lead: float = 0.4
    late_after: float = 0.2
    cancel_grace: float = 0.25
    stuck_after: float = 6.0
    login_stuck_after: float = 20.0
    starved_after: float = 1.0
    confirm_wait: float = 10.0
    login_pause: float = 30.0
    accepted_login_wait: float = 30.0
    crash_pause: float = 60.0
    max_crash_pause: float = 300.0
    stop_timeout: float = 2.0

    def limit(self, deadline: float, clock: Clock) -> float:
        """The deadline of the next statement of a scrape: a share of the time that is left."""
        now = clock.monotonic()
        return min(deadline, now + max(self.min_collector_seconds, (deadline - now) * self.collector_share))


TIMING = Timing()
