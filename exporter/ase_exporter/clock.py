"""The clock that code with deadlines and intervals is given, so that tests can move the time."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """monotonic: seconds, never going back; deadlines refer to it. time: seconds since the epoch."""

    monotonic: Callable[[], float] = time.monotonic
    time: Callable[[], float] = time.time


SYSTEM_CLOCK = Clock()
