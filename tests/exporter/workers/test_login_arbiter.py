"""The web process permits logins, and keeps their backoffs, while it answers scrapes."""

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from ase_exporter.ase.login_backoff import Account, LoginBackoff, Permit
from ase_exporter.workers.backoff_file import FILE, BackoffFile
from ase_exporter.workers.login_arbiter import LoginArbiter
from ase_exporter.workers.messages import LoginQuestion

SERVERS = 300


class CountedFile(BackoffFile):
    """Notes which thread makes each write."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.writers: list[threading.Thread] = []

    def save(self, backoffs: Mapping[Account, list[LoginBackoff]]) -> None:
        self.writers.append(threading.current_thread())
        super().save(backoffs)


def test_servers_that_fall_silent_together_are_written_together_and_not_by_the_event_loop(
    tmp_path: Path,
) -> None:
    file = CountedFile(tmp_path)

    async def all_silent() -> None:
        arbiter = LoginArbiter(file)
        permits: list[Permit] = []
        for number in range(SERVERS):
            accounts = frozenset({Account(f"db{number}.example", 5000, "monitor")})
            arbiter.ask(LoginQuestion(number, accounts, "planted", time.monotonic() + 60), permits.append)
        for permit in permits:
            arbiter.note(permit.number, "unanswered")
        await arbiter.close()

    asyncio.run(all_silent())
    assert len(json.loads((tmp_path / FILE).read_text())) == SERVERS
    assert len(file.writers) <= 2
    assert threading.main_thread() not in file.writers
