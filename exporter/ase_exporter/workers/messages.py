"""Messages between the web process and its workers: pickled, with the body of a reply behind the pickle.

Both ends are this program, run by one user, over a socket pair that nothing else can reach. A message starts with
two lengths, of the pickle and of the body: megabytes of text are not copied into a pickle.
"""

import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from ase_exporter.ase.login_ledger import LoginQuestion, LoginReport, Permit
from ase_exporter.changes.snapshot import ConfigSnapshot
from ase_exporter.config import Config, Target
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.saved_totals import SavedTotals
from ase_exporter.scraping.result import ScrapeSummary
from ase_exporter.sessions.session import Snapshot

LENGTHS = struct.Struct("!II")


@dataclass(frozen=True, slots=True)
class Started:
    """First message of a worker: it has imported everything and waits for its assignment."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has its assignment and accepts requests now."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Adds a target: one of the assignment, or handed over during a reload.

    sysmon_halted: sp_sysmon is not run there again. totals: by module, from which its counters continue.
    """

    target: Target
    sysmon_halted: bool = False
    totals: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """First message to a worker. catalogue: pickled. login_salt: that of the ledger of logins."""

    config: Config
    catalogue: bytes
    admissions: tuple[Admission, ...] = ()
    login_salt: str = ""


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Removes a target by name; scrapes of it that were requested before still end."""

    target: str


@dataclass(frozen=True, slots=True)
class ScrapeRequest:
    """One scrape. Requests that ask for the same thing are equal.

    deadline: time.monotonic(), which all processes of a machine share on Linux. collectors: only these, None for all of
    the module. compress: gzip the body. module: '' for the target's own. session_groups: what to read of sessions, in
    place of an exposition. families: known to the web process, rendered with the rest. number: of the pool.
    """

    target: str
    deadline: float = field(compare=False)
    collectors: frozenset[str] | None = None
    compress: bool = False
    module: str = ""
    session_groups: frozenset[str] = frozenset()
    families: tuple[Family, ...] = field(default=(), compare=False)
    number: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ScrapeReply:
    """The answer to a request, on time. If the scrape had not ended by then, another one with what it found follows.

    body: the exposition; empty if the worker failed, and in what follows an answer. config_snapshot: if one was due.
    ended: the scrape has ended. sysmon_halted: sp_sysmon cleared counters, and is not run again. totals: of its
    counters, None if nothing was counted or the scrape has not ended yet. sessions: if they were asked for and read.
    """

    number: int
    body: bytes
    summary: ScrapeSummary
    config_snapshot: ConfigSnapshot | None = None
    ended: bool = False
    sysmon_halted: bool = False
    target: str = ""
    totals: SavedTotals | None = None
    sessions: Snapshot | None = None


Message = (
    Assignment
    | Started
    | Ready
    | Admission
    | Dismissal
    | ScrapeRequest
    | ScrapeReply
    | LoginQuestion
    | Permit
    | LoginReport
)


def pack(message: Message) -> list[bytes]:
    """A message as parts to be sent one after the other."""
    body = b""
    if isinstance(message, ScrapeReply):
        body, message = message.body, replace(message, body=b"")
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return [LENGTHS.pack(len(data), len(body)) + data, body]


def unpack(data: bytes, body: bytes) -> Message:
    """A message of the two parts that follow its lengths."""
    message: Message = pickle.loads(data)
    return replace(message, body=body) if isinstance(message, ScrapeReply) else message


def read(stream: BinaryIO) -> Message:
    """The next message of a blocking stream. Raises EOFError at its end."""
    if not (lengths := stream.read(LENGTHS.size)):
        raise EOFError
    length, body_length = LENGTHS.unpack(lengths)
    return unpack(stream.read(length), stream.read(body_length))
