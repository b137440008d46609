"""The ledger of logins in a worker: asks the web process."""

import itertools
import queue
import threading
import time
from collections.abc import Callable

from ase_exporter.ase.login_backoff import Account, Outcome, Permit
from ase_exporter.workers.messages import LoginEnd, LoginPermit, LoginQuestion, Message

NO_ANSWER = "is not tried: the web process does not answer"


class RemoteLedger:
    """Implements LoginLedger. send: sends a message to the web process."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._asked: dict[int, queue.SimpleQueue[Permit]] = {}

    def begin(self, accounts: frozenset[Account], password: str, deadline: float) -> Permit:
        """As that of LoginLedger."""
        number = next(self._numbers)
        answer: queue.SimpleQueue[Permit] = queue.SimpleQueue()
        with self._lock:
            self._asked[number] = answer
        self._send(LoginQuestion(number, accounts, password, deadline))
        try:
            return answer.get(timeout=max(deadline - time.monotonic(), 0.0))
        except queue.Empty:
            with self._lock:
                if self._asked.pop(number, None):
                    return Permit(NO_ANSWER)
            return answer.get()

    def note(self, number: int, outcome: Outcome, *, directory: bool = False, attempts: int = 1) -> None:
        """As that of LoginLedger."""
        self._send(LoginEnd(number, outcome, directory, attempts))

    def answer(self, message: LoginPermit) -> None:
        """The web process has answered."""
        with self._lock:
            asked = self._asked.pop(message.number, None)
            if asked:
                asked.put(message.permit)
        if not asked and not message.permit.denied:
            self.note(message.permit.number, "not_refused")
