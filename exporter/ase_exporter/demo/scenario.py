"""Asks the simulated server which step of its scenario it is at, and remembers when each began."""

import threading
import time
from types import TracebackType
from typing import Self

from ase_exporter.connection import Connection, DatabaseError, Endpoint
from ase_exporter.demo.replay import Run

POLL_SECONDS = 0.25
ANSWER_SECONDS = 5.0
STEP = "select StepName, SecondsInStep from master..simScenario"


class Scenario:
    """Watches a scenario from a thread of its own, from entering the block until leaving it.

    speed: simulated seconds per second, to turn the server's time into ours.
    """

    def __init__(self, endpoint: Endpoint, user: str, password: str, speed: float) -> None:
        self._endpoint = endpoint
        self._login = (user, password)
        self._speed = speed
        self._runs: list[Run] = []
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(ANSWER_SECONDS)

    def runs(self) -> list[Run]:
        """The runs so far in order; the last one goes on."""
        with self._changed:
            return list(self._runs)

    def wait_for_runs(self, count: int, timeout: float) -> bool:
        """Wait until that many runs have begun; False if they do not within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._runs) >= count, timeout)

    def _watch(self) -> None:
        while not self._over.is_set():
            try:
                connection = Connection.open(
                    self._endpoint, *self._login, deadline=time.monotonic() + ANSWER_SECONDS, program="demo"
                )
            except DatabaseError:
                self._over.wait(POLL_SECONDS)
                continue
            try:
                while not self._over.wait(POLL_SECONDS):
                    for step, seconds in connection.query(STEP, time.monotonic() + ANSWER_SECONDS):
                        self._note(str(step), float(str(seconds)))
            except DatabaseError:
                continue
            finally:
                connection.close()

    def _note(self, step: str, seconds_in_step: float) -> None:
        start = time.time() - seconds_in_step / self._speed
        name, _, features = step.partition(": ")
        with self._changed:
            if self._runs and self._runs[-1].name == name:
                return
            if self._runs:
                self._runs[-1] = self._runs[-1].ended(start)
            self._runs.append(Run(name, features, start))
            self._changed.notify_all()
