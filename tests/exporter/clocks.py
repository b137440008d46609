"""Clocks that tests move."""

import time
from functools import partial

from ase_exporter.ase.connection import Connection, Opener
from ase_exporter.ase.watchdog import Watchdog
from ase_exporter.clock import Clock


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


def opener(clock: Clock) -> Opener[Connection]:
    """Opens connections whose deadlines refer to that clock."""
    return partial(Connection.open, watchdog=Watchdog(clock))
