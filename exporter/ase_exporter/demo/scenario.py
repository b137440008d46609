"""Polls the simulated server for the current step of its scenario, and records when each began."""

import threading
import time
from dataclasses import replace
from typing import Self

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.demo.replay import Run

POLL_SECONDS = 0.25
TIMEOUT_SECONDS = 5.0
STEP_QUERY = "select StepName, SecondsInStep from master..simScenario"


class Scenario:
    """Follows a scenario in a background thread while the block is active.

    speed: simulated seconds per real second, to convert the server's time.
    """

    def __init__(self, endpoint: Endpoint, user: str, password: str, speed: float) -> None:
        self._endpoint = endpoint
        self._login = (user, password)
        self._speed = speed
        self._runs: list[Run] = []
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT_SECONDS)

    def runs(self) -> list[Run]:
        """Return the runs so far, in order; the last one has not ended."""
        with self._changed:
            return list(self._runs)

    def wait_for_runs(self, count: int, timeout: float) -> bool:
        """Wait until `count` runs have begun; return False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._runs) >= count, timeout)

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                connection = Connection.open(
                    self._endpoint, *self._login, deadline=time.monotonic() + TIMEOUT_SECONDS, program="demo"
                )
            except DatabaseError:
                self._stop.wait(POLL_SECONDS)
                continue
            try:
                while not self._stop.wait(POLL_SECONDS):
                    for step, seconds in connection.query(STEP_QUERY, time.monotonic() + TIMEOUT_SECONDS):
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
                self._runs[-1] = replace(self._runs[-1], end=start)
            self._runs.append(Run(name, features, start))
            self._changed.notify_all()
