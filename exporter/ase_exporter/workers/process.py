"""Worker processes as the pool sees them: how one is started, and what is known of it."""

import asyncio
import contextlib
import socket
import sys
import time
from dataclasses import dataclass, field

from ase_exporter import logs
from ase_exporter.config import Target
from ase_exporter.workers.messages import LENGTHS, Message, ScrapeReply, pack, unpack

# Socket buffer in bytes. A large answer should leave the worker in one go: for each piece that the web process
# takes, both processes would be woken.
SEND_BUFFER = 1 << 20


@dataclass(slots=True, eq=False)
class WorkerProcess:
    """A running worker.

    pending: replies awaited, by request number. scraping: targets with a scrape that has not ended, even if it was
    answered. suspicion: the timer that will kill it.
    """

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    started: float = field(default_factory=time.monotonic)
    pending: dict[int, asyncio.Future[ScrapeReply]] = field(default_factory=dict)
    scraping: set[str] = field(default_factory=set)
    suspicion: asyncio.TimerHandle | None = None

    async def receive(self) -> Message:
        """The next message. Raises EOFError or ConnectionError when the worker is gone."""
        length, body_length = LENGTHS.unpack(await self.reader.readexactly(LENGTHS.size))
        return unpack(await self.reader.readexactly(length), await self.reader.readexactly(body_length))

    def send(self, message: Message) -> None:
        """Queue a message to be sent."""
        self.writer.writelines(pack(message))

    def kill(self) -> None:
        """Kill the process, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


@dataclass(slots=True, eq=False)
class WorkerSlot:
    """The place of a worker in the pool, and of those that replace it.

    targets: by name. started: set once a worker has waited for its targets; ready: while it accepts requests.
    down_since: when it ceased to (monotonic); starts: how often it was started since; error: why that failed last.
    """

    targets: dict[str, Target]
    worker: WorkerProcess | None = None
    receiving: asyncio.Task[None] | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    down_since: float = field(default_factory=time.monotonic)
    starts: int = 0
    error: str = ""

    def set_ready(self, ready: bool) -> None:
        """Note that the worker accepts requests, or that it does not any more."""
        if ready:
            self.ready.set()
            self.starts, self.error = 0, ""
        elif self.ready.is_set():
            self.ready.clear()
            self.down_since = time.monotonic()

    def problem(self, start_timeout: float) -> str:
        """Why it does not accept requests, if it should by now (start_timeout: seconds); else ''."""
        if self.error:
            return f"a worker process cannot be started: {self.error}"
        seconds = time.monotonic() - self.down_since
        if not self.ready.is_set() and seconds > start_timeout:
            return f"a worker process has not accepted requests for {seconds:.0f} s"
        return ""

    def send(self, message: Message) -> None:
        """Send a message, unless a worker is being started: it gets its targets with the assignment."""
        if self.worker:
            self.worker.send(message)


async def launch() -> WorkerProcess:
    """Start a worker process. Raises OSError or RuntimeError, and leaves no socket behind, if that is not possible."""
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as undo, theirs:
        undo.callback(ours.close)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # No module of the working directory is imported.
            "-P",
            "-m",
            "ase_exporter.workers.worker",
            str(theirs.fileno()),
            *logs.settings(),
            pass_fds=[theirs.fileno()],
            stdin=asyncio.subprocess.DEVNULL,
        )
        undo.pop_all()
    return WorkerProcess(process, *await asyncio.open_connection(sock=ours, limit=SEND_BUFFER))
