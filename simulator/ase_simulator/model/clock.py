"""Simulated time: real time multiplied by a speed, plus what tests add by hand."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo


class Clock:
    """Seconds since the scenario began.

    speed: simulated seconds per real second; with 0 only `advance` moves the clock.
    start: simulated date at second 0 (UTC, naive); by default the real date. zone: of the server's dates.
    """

    def __init__(
        self,
        speed: float = 1.0,
        start: datetime | None = None,
        wall: Callable[[], float] = time.monotonic,
        zone: tzinfo = UTC,
    ) -> None:
        self.speed = speed
        self.start = start or datetime.now(UTC).replace(tzinfo=None)
        self.zone = zone
        self._wall = wall
        self._wall_start = wall()
        self._added = 0.0
        self._moved = asyncio.Event()
        self.sleepers = 0
        """Number of coroutines in sleep()."""

    def seconds(self) -> float:
        """Simulated seconds since the start; never goes back."""
        return self._added + (self._wall() - self._wall_start) * self.speed

    def utc(self, seconds: float) -> datetime:
        """The date at that simulated second, in UTC, naive."""
        return self.start + timedelta(seconds=seconds)

    def date(self, seconds: float) -> datetime:
        """The date at that simulated second, in the server's time zone, naive."""
        return self.utc(seconds).replace(tzinfo=UTC).astimezone(self.zone).replace(tzinfo=None)

    def advance(self, seconds: float) -> None:
        """Move time forward by hand and wake the sleepers."""
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        self._added += seconds
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def change_speed(self, speed: float) -> None:
        """Go on at another speed from now on."""
        self._added, self._wall_start, self.speed = self.seconds(), self._wall(), speed
        self.advance(0)

    async def sleep(self, seconds: float) -> None:
        end = self.seconds() + seconds
        self.sleepers += 1
        try:
            while (left := end - self.seconds()) > 0:
                timeout = left / self.speed if self.speed > 0 else None
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), timeout)
        finally:
            self.sleepers -= 1
