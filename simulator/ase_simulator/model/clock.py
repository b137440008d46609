"""Simulated time: the wall clock times a speed, plus what tests add by hand."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta


class Clock:
    """Seconds since the scenario began.

    speed: simulated seconds per wall second; 0 stands still, so that only `advance` moves it.
    start: simulated date at second 0 (UTC, naive); the wall's own by default.
    """

    def __init__(
        self,
        speed: float = 1.0,
        start: datetime | None = None,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self.speed = speed
        self.start = start or datetime.now(UTC).replace(tzinfo=None)
        self._wall = wall
        self._wall_start = wall()
        self._added = 0.0
        self._moved = asyncio.Event()
        self.sleepers = 0
        """How many wait for simulated time to pass."""

    def seconds(self) -> float:
        """Simulated seconds since the start; never goes back."""
        return self._added + (self._wall() - self._wall_start) * self.speed

    def date(self, seconds: float) -> datetime:
        """The date at that simulated second."""
        return self.start + timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        """Move time on by hand; wakes those who sleep."""
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        self._added += seconds
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def sleep(self, seconds: float) -> None:
        """Wait that many simulated seconds."""
        end = self.seconds() + seconds
        self.sleepers += 1
        try:
            while (left := end - self.seconds()) > 0:
                timeout = left / self.speed if self.speed > 0 else None
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), timeout)
        finally:
            self.sleepers -= 1
