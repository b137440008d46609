"""What the front process and its workers say to each other: pickled messages, and bodies as they are.

Both ends are this program, of one user, over a socket pair that nothing else can reach. In front of a message
stand two lengths, of what is pickled and of the body behind it: megabytes of text are not copied to be pickled.
"""

import asyncio
import pickle
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ase_exporter.changes.snapshot import Look
from ase_exporter.config import Config, Target
from ase_exporter.families import Family
from ase_exporter.refusal import Refusals

_LENGTHS = struct.Struct("!II")


@dataclass(frozen=True, slots=True)
class Assignment:
    """First message to a worker: the configuration, and the targets that are its own.

    refusals: of logins, by target, as the worker before met them: one that is replaced must not get a login
    locked.
    """

    config: Config
    targets: tuple[Target, ...]
    refusals: Mapping[str, Refusals]


@dataclass(frozen=True, slots=True)
class Ready:
    """First message of a worker: it has started, and takes requests."""


@dataclass(frozen=True, slots=True)
class Admission:
    """One more target for the worker, beyond the configured ones."""

    target: Target
    refusals: Refusals


@dataclass(frozen=True, slots=True)
class Dismissal:
    """That target, by name, is over; no scrape of it is under way."""

    target: str


@dataclass(frozen=True, slots=True)
class ScrapeRequest:
    """One scrape. deadline: time.monotonic(), which all processes of a machine share on Linux.

    collectors: only these (None: all of the module); openmetrics: format of the body; compress: gzip it;
    families: what the front knows of the target, to be rendered with the rest; module: '' for its own.
    """

    number: int
    target: str
    deadline: float
    collectors: frozenset[str] | None = None
    openmetrics: bool = False
    compress: bool = False
    families: tuple[Family, ...] = ()
    module: str = ""


@dataclass(frozen=True, slots=True)
class ScrapeReply:
    """The answer, on time.

    look: what the target's configuration is, where it was time to look. stretched: collectors that are read
    less often, to keep the budget. refusals: of its logins, None where the
    scrape is not over.
    """

    number: int
    body: bytes
    up: bool
    error: str = ""
    version: str = ""
    series: int = 0
    look: Look | None = None
    stretched: int = 0
    refusals: Refusals | None = None


Message = Assignment | Ready | Admission | Dismissal | ScrapeRequest | ScrapeReply


def pack(message: Message) -> list[bytes]:
    """A message as it goes over the socket, part by part."""
    if not isinstance(message, ScrapeReply):
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        return [_LENGTHS.pack(len(data), 0) + data]
    data = pickle.dumps(replace(message, body=b""), pickle.HIGHEST_PROTOCOL)
    return [_LENGTHS.pack(len(data), len(message.body)) + data, message.body]


def unpack(read_exactly: Callable[[int], bytes]) -> Message:
    """The next message from a blocking reader, which raises EOFError at the end."""
    length, _ = _LENGTHS.unpack(read_exactly(_LENGTHS.size))
    message: Message = pickle.loads(read_exactly(length))
    return message


class Channel(asyncio.BufferedProtocol):
    """The front's end of a socket: every part of a message is received where it stays."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._received = self._parts()
        self._part = next(self._received)
        self._filled = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a socket now."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self._messages.put_nowait(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        """What is missing of the part that is being received."""
        return self._part[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """So much of it came."""
        self._filled += nbytes
        if self._filled == len(self._part):
            self._part, self._filled = next(self._received), 0

    async def receive(self) -> Message:
        """The next message. EOFError when the worker is gone."""
        message = await self._messages.get()
        if message is None:
            raise EOFError
        return message

    def send(self, message: Message) -> None:
        """Have it sent."""
        for part in pack(message):
            self._transport.write(part)

    def close(self) -> None:
        """Send no more."""
        self._transport.close()

    def _parts(self) -> Iterator[memoryview]:
        """Memory for one part after the other; when it goes on, the part has come."""
        while True:
            yield (lengths := memoryview(bytearray(_LENGTHS.size)))
            length, body_length = _LENGTHS.unpack(lengths)
            yield (data := memoryview(bytearray(length)))
            message: Message = pickle.loads(data)
            if isinstance(message, ScrapeReply) and body_length:
                yield (body := memoryview(bytearray(body_length)))
                message = replace(message, body=bytes(body))
            self._messages.put_nowait(message)
