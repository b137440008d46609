"""Clocks that tests move."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from ase_exporter.ase.connection import Connection, Opener
from ase_exporter.ase.watchdog import Watchdog
from ase_exporter.clock import Clock
from ase_simulator.faults import Faults

BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"


@contextmanager
def timezone(name: str) -> Iterator[None]:
    """The machine's time zone, for the block."""
    try:
        with patch.dict(os.environ, TZ=name):
            time.tzset()
            yield
    finally:
        time.tzset()


class ShiftedClock:
    """The system clock plus seconds that a test adds. ahead: to both times; jump: to the time of day alone."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.jump = 0.0
        self.clock = Clock(self.monotonic, self.time)

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def time(self) -> float:
        return time.time() + self.ahead + self.jump


class StandingClock(ShiftedClock):
    """Stands still but for the seconds that a test adds, so that it does not matter how fast the machine is."""

    def monotonic(self) -> float:
        return 1000.0 + self.ahead

    def time(self) -> float:
        return 1e9 + self.ahead + self.jump


@contextmanager
def leaping(clock: ShiftedClock, seconds: float) -> Iterator[None]:
    """Each time that a simulated server hangs, so many seconds pass at once: nobody waits for a deadline."""
    strikes = Faults.strikes

    def leap(faults: Faults, request: str) -> bool:
        struck = strikes(faults, request)
        if struck and faults.hang:
            clock.ahead += seconds
        return struck

    with patch.object(Faults, "strikes", leap):
        yield


class _Glancing(threading.Event):
    """Waits for a moment at most, so that a watchdog sees that its clock has leapt."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.02 if timeout else timeout)


def opener(clock: Clock) -> Opener[Connection]:
    """Opens connections whose deadlines refer to that clock."""
    watchdog = Watchdog(clock)
    watchdog._wake = _Glancing()
    return partial(Connection.open, watchdog=watchdog)
