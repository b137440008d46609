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


class SlowFile(BackoffFile):
    """Each write waits to be allowed."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.begun, self.allowed = threading.Semaphore(0), threading.Semaphore(0)

    def save(self, backoffs: Mapping[Account, list[LoginBackoff]]) -> None:
        self.begun.release()
        assert self.allowed.acquire(timeout=60)
        super().save(backoffs)


def test_what_was_noted_is_awaited_and_not_what_comes_after(tmp_path: Path) -> None:
    file = SlowFile(tmp_path)

    async def written_one_by_one() -> None:
        arbiter = LoginArbiter(file)

        def refuse(number: int) -> asyncio.Task[None]:
            accounts = frozenset({Account(f"db{number}.example", 5000, "monitor")})
            question = LoginQuestion(number, accounts, "planted", time.monotonic() + 60)
            arbiter.ask(question, lambda permit: arbiter.note(permit.number, "refused"))
            return asyncio.create_task(arbiter.saved(60))

        first = refuse(1)
        assert await asyncio.to_thread(file.begun.acquire, timeout=60)
        second = refuse(2)
        await arbiter.saved(0.0)
        assert not (first.done() or second.done())
        file.allowed.release()
        await first
        assert await asyncio.to_thread(file.begun.acquire, timeout=60)
        third = refuse(3)
        assert not second.done()
        file.allowed.release()
        await second
        assert len(json.loads((tmp_path / FILE).read_text())) == 2
        file.allowed.release()
        await third
        assert len(json.loads((tmp_path / FILE).read_text())) == 3
        await arbiter.close()
        await arbiter.saved(0.0)

    asyncio.run(written_one_by_one())
