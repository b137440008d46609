"""Messages between the web process and its workers: pickled, with the body of a reply behind the pickle.

Both ends are this program, run by one user, over a socket pair that nothing else can reach. A message starts with
two lengths, of the pickle and of the body: megabytes of text are not copied into a pickle.
"""

import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ase_exporter.ase.login_ledger import LoginQuestion, LoginReport, Permit
from ase_exporter.changes.snapshot import ConfigSnapshot
from ase_exporter.config import Config, Target
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.saved_totals import SavedTotals
from ase_exporter.scraping.summary import ScrapeSummary

LENGTHS = struct.Struct("!II")


@dataclass(frozen=True, slots=True)
class Assignment:
    """First message to a worker: the configuration, the pickled catalogue and the targets of this worker.

    halted: servers, by host and port, where sp_sysmon is not run again. totals: by target and module, from which
    its counters continue. login_salt: that of the ledger of logins.
    """

    config: Config
    catalogue: bytes
    targets: tuple[Target, ...]
    halted: frozenset[tuple[str, int]] = frozenset()
    totals: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    login_salt: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """First message of a worker: it has imported everything and waits for its assignment."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has its assignment and accepts requests now."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Adds a target: one on the probe allowlist, or one that is handed over during a reload."""

    target: Target
    sysmon_halted: bool = False
    totals: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Removes an allowlisted target by name; scrapes of it that were requested before still end."""

    target: str


@dataclass(frozen=True, slots=True)
class ScrapeRequest:
    """One scrape. deadline: time.monotonic(), which all processes of a machine share on Linux.

    collectors: only these, None for all of the module. openmetrics: format of the body; created: with the times at
    which counters started. compress: gzip it.
    families: known to the web process, rendered with the rest. module: '' for the target's own.
    """

    number: int
    target: str
    deadline: float
    collectors: frozenset[str] | None = None
    openmetrics: bool = False
    created: bool = False
    compress: bool = False
    families: tuple[Family, ...] = ()
    module: str = ""


@dataclass(frozen=True, slots=True)
class ScrapeReply:
    """The answer to a request, on time. If the scrape had not ended by then, another one with what it found follows.

    body: the exposition; empty if the worker failed, and in what follows an answer. config_snapshot: if one was due.
    ended: the scrape has ended. sysmon_halted: sp_sysmon cleared counters, and is not run again. totals: of its
    counters, None if nothing was counted or the scrape has not ended yet.
    """

    number: int
    body: bytes | bytearray
    summary: ScrapeSummary
    config_snapshot: ConfigSnapshot | None = None
    ended: bool = False
    sysmon_halted: bool = False
    target: str = ""
    totals: SavedTotals | None = None


@dataclass(frozen=True, slots=True)
class LoginPermit:
    """The answer to the question of that number."""

    number: int
    permit: Permit


Message = (
    Assignment
    | Started
    | Ready
    | Admission
    | Dismissal
    | ScrapeRequest
    | ScrapeReply
    | LoginQuestion
    | LoginPermit
    | LoginReport
)


def pack(message: Message) -> list[bytes | bytearray]:
    """A message as parts to be sent one after the other."""
    if not isinstance(message, ScrapeReply):
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        return [LENGTHS.pack(len(data), 0) + data]
    data = pickle.dumps(replace(message, body=b""), pickle.HIGHEST_PROTOCOL)
    return [LENGTHS.pack(len(data), len(message.body)) + data, message.body]


def unpack(read_exactly: Callable[[int], bytes]) -> Message:
    """The next message from a blocking reader. Passes on its EOFError."""
    length, _ = LENGTHS.unpack(read_exactly(LENGTHS.size))
    message: Message = pickle.loads(read_exactly(length))
    return message
