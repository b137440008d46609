"""Worker processes as the pool sees them: how one is started, and what is known of it."""

import asyncio
import contextlib
import socket
import sys
import time
from dataclasses import dataclass, field

from ase_exporter import logs
from ase_exporter.workers.channel import Channel
from ase_exporter.workers.messages import ScrapeReply

# Socket buffer in bytes. A large answer should leave the worker in one go: for each piece that the web process
# takes, both processes would be woken.
SEND_BUFFER = 1 << 20


@dataclass(slots=True)
class WorkerProcess:
    """A running worker.

    pending: replies awaited, by request number. scraping: targets with a scrape that has not ended, even if it was
    answered. suspicion: the timer that will kill it.
    """

    process: asyncio.subprocess.Process
    channel: Channel
    receiving: asyncio.Task[None]
    started: float = field(default_factory=time.monotonic)
    pending: dict[int, asyncio.Future[ScrapeReply]] = field(default_factory=dict)
    scraping: set[str] = field(default_factory=set)
    suspicion: asyncio.TimerHandle | None = None


@dataclass(slots=True)
class Outage:
    """The time in which a worker accepts no requests.

    since: its begin (monotonic). starts: how often the worker was started in it. error: why the last start failed.
    """

    since: float = field(default_factory=time.monotonic)
    starts: int = 0
    error: str = ""


async def launch() -> tuple[asyncio.subprocess.Process, Channel]:
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
    _, channel = await asyncio.get_running_loop().create_connection(Channel, sock=ours)
    return process, channel
