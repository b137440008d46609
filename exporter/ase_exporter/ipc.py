"""What the front process and its workers say to each other: pickled messages with a length in front.

Both ends are this program, of one user, over a socket pair that nothing else can reach.
"""

import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ase_exporter.changes.snapshot import Look
from ase_exporter.config import Config, Target
from ase_exporter.families import Family
from ase_exporter.refusal import Refusal

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Assignment:
    """First message to a worker: the configuration, and the targets that are its own.

    refusals: by target, of logins that the worker before was refused: a worker that is replaced must not get
    a login locked.
    """

    config: Config
    targets: tuple[Target, ...]
    refusals: Mapping[str, Refusal]


@dataclass(frozen=True, slots=True)
class Ready:
    """First message of a worker: it has started, and takes requests."""


@dataclass(frozen=True, slots=True)
class Admission:
    """One more target for the worker, beyond the configured ones."""

    target: Target
    refusal: Refusal | None


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
    less often, to keep the budget. refusal: of the login, where it was refused.
    """

    number: int
    body: bytes
    up: bool
    error: str = ""
    version: str = ""
    series: int = 0
    look: Look | None = None
    stretched: int = 0
    refusal: Refusal | None = None


Message = Assignment | Ready | Admission | Dismissal | ScrapeRequest | ScrapeReply


def pack(message: Message) -> bytes:
    """A message as it goes over the socket."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def unpack(read_exactly: Callable[[int], bytes]) -> Message:
    """The next message from a blocking reader, which raises EOFError at the end."""
    (length,) = _LENGTH.unpack(read_exactly(_LENGTH.size))
    message: Message = pickle.loads(read_exactly(length))
    return message
