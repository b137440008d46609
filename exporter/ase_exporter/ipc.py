"""What the front process and its workers say to each other: pickled messages, and bodies as they are.

Both ends are this program, of one user, over a socket pair that nothing else can reach. In front of a message
stand two lengths, of what is pickled and of the body behind it: megabytes of text are not copied to be pickled.
"""

import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ase_exporter.changes.snapshot import Look
from ase_exporter.config import Config, Target
from ase_exporter.families import Family
from ase_exporter.refusal import Refusals

LENGTHS = struct.Struct("!II")


@dataclass(frozen=True, slots=True)
class Assignment:
    """First message to a worker: the configuration, the catalogue, pickled, and the targets that are its own.

    refusals: of logins, by target, as the worker before met them: one that is replaced must not get a login
    locked.
    """

    config: Config
    catalogue: bytes
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
    body: bytes | bytearray
    up: bool
    error: str = ""
    version: str = ""
    series: int = 0
    look: Look | None = None
    stretched: int = 0
    refusals: Refusals | None = None


Message = Assignment | Ready | Admission | Dismissal | ScrapeRequest | ScrapeReply


def pack(message: Message) -> list[bytes | bytearray]:
    """A message as it goes over the socket, part by part."""
    if not isinstance(message, ScrapeReply):
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        return [LENGTHS.pack(len(data), 0) + data]
    data = pickle.dumps(replace(message, body=b""), pickle.HIGHEST_PROTOCOL)
    return [LENGTHS.pack(len(data), len(message.body)) + data, message.body]


def unpack(read_exactly: Callable[[int], bytes]) -> Message:
    """The next message from a blocking reader, which raises EOFError at the end."""
    length, _ = LENGTHS.unpack(read_exactly(LENGTHS.size))
    message: Message = pickle.loads(read_exactly(length))
    return message
