"""A webhook receiver that keeps Alertmanager's notifications, to look at and to wait for."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Self

from ase_simulator.demo.processes import HOST
from ase_simulator.demo.webhook import Notification, receiving


class Webhook:
    """Listens on a port of loopback (0 picks a free one) while the block is active."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._arrived = threading.Condition()
        self._notifications: list[Notification] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.port = self._open.enter_context(receiving(HOST, self.port, self._take))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def notifications(self) -> list[Notification]:
        """All alerts received so far, oldest first."""
        with self._arrived:
            return list(self._notifications)

    def wait(self, condition: Callable[[Sequence[Notification]], bool], timeout: float) -> bool:
        """Wait until `condition` holds for the alerts received so far; False after `timeout` seconds."""
        with self._arrived:
            return self._arrived.wait_for(lambda: condition(self._notifications), timeout)

    def _take(self, alert: Notification) -> None:
        with self._arrived:
            self._notifications.append(alert)
            self._arrived.notify_all()
