"""Login attempts of all workers: the web process decides which are made, so that workers, reloads, restarts of the
exporter and several names of one server share one count."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping

from ase_exporter.ase.login_backoff import BUSY, Account, LoginBackoff, LoginBackoffs, Outcome, Permit
from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.workers.backoff_file import NO_FILE, BackoffFile
from ase_exporter.workers.messages import LoginQuestion


class LoginArbiter:
    """The backoffs of the process, kept in a file. For the event loop."""

    def __init__(self, file: BackoffFile = NO_FILE, timing: Timing = TIMING) -> None:
        self._file = file
        self._backoffs = LoginBackoffs(file.load(), self._save_soon, timing=timing)
        self._unsaved: Mapping[Account, list[LoginBackoff]] | None = None
        self._saving: asyncio.Task[None] | None = None
        # The end of the write under way, and of the one after it.
        self._written = self._next_written = asyncio.Event()
        self._ended = asyncio.Event()
        self._waiting: set[asyncio.Task[None]] = set()

    def ask(self, question: LoginQuestion, answer: Callable[[Permit], None]) -> None:
        """Call `answer` now, or when other attempts at the accounts have ended, or at the deadline."""
        if permit := self._begin(question):
            answer(permit)
            return
        task = asyncio.create_task(self._wait(question, answer))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def note(self, number: int, outcome: Outcome, *, directory: bool = False, attempts: int = 1) -> None:
        """As that of LoginLedger."""
        self._backoffs.note(number, outcome, directory=directory, attempts=attempts)
        self._ended.set()
        self._ended = asyncio.Event()

    async def saved(self, timeout: float) -> None:
        """Wait until what has been noted so far is written, if the disk is not slower than that."""
        if self._saving:
            written = self._written if self._unsaved is None else self._next_written
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(written.wait(), timeout)

    async def close(self) -> None:
        """Wait until all backoffs are written."""
        if self._saving:
            await self._saving

    def _save_soon(self, backoffs: Mapping[Account, list[LoginBackoff]]) -> None:
        # A thousand servers that fall silent together must not hold the event loop for a thousand writes.
        self._unsaved = backoffs
        if self._saving is None:
            self._saving = asyncio.create_task(self._save())

    async def _save(self) -> None:
        """Write in a thread; what changes meanwhile is written together."""
        while self._unsaved is not None:
            backoffs, self._unsaved = dict(self._unsaved), None
            self._written, self._next_written = self._next_written, asyncio.Event()
            await asyncio.to_thread(self._file.save, backoffs)
            self._written.set()
        self._saving = None

    def _begin(self, question: LoginQuestion) -> Permit | None:
        return self._backoffs.begin(question.accounts, question.password)

    async def _wait(self, question: LoginQuestion, answer: Callable[[Permit], None]) -> None:
        while (permit := self._begin(question)) is None:
            try:
                async with asyncio.timeout(question.deadline - time.monotonic()):
                    await self._ended.wait()
            except TimeoutError:
                permit = Permit(BUSY)
                break
        answer(permit)
