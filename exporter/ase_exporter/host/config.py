"""Settings of the host part: which collectors run, where /proc and /sys are, and what each needs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, MinLen

from ase_exporter.checks import Check, Seconds, Strict


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from error
    return text


def _known_profile(name: str) -> str:
    from ase_exporter.host.perf_profiles import shipped

    if name not in (known := ("auto", "kernel", *shipped().profiles)):
        raise ValueError(f"expected one of {', '.join(known)}")
    return name


def _known_size(size: str) -> str:
    if size not in ("2MiB", "1GiB"):
        raise ValueError("expected 2MiB or 1GiB")
    return size


Pattern = Annotated[str, Check(_pattern)]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessGroup(Strict):
    """One kind of database process.

    name: a pattern for the whole process name (comm); pid_file: a file whose first word is the main process's
    id. One of both. server: a pattern whose first group, found in the command line, is the server's name;
    without a match the database's name stands for it.
    """

    database: Annotated[str, MinLen(1)]
    name: Pattern | None = None
    pid_file: Path | None = None
    server: Pattern | None = None

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        if (self.name is None) == (self.pid_file is None):
            raise ValueError("expected exactly one of name, pid_file")
        if self.server is not None and re.compile(self.server).groups < 1:
            raise ValueError("server: expected a pattern with a group, such as -s(\\S+)")


# ASE names its server by -sNAME on the command line; a PostgreSQL or MariaDB is known by its data directory.
DEFAULT_PROCESSES = (
    ProcessGroup(database="ase", name="dataserver|diagserver", server=r"(?:^|\s)-s\s*(\S+)"),
    ProcessGroup(database="postgres", name="postgres|postmaster", server=r"(?:^|\s)-D\s*(\S+)"),
    ProcessGroup(database="mysql", name="mysqld|mariadbd", server=r"--datadir=(\S+)"),
    ProcessGroup(
        database="oracle", name=r"ora_.*|oracle|oracle_\d+_.*", server=r"^(?:ora_[a-z0-9]+_|oracle)([^\s(]+)"
    ),
    ProcessGroup(database="db2", name="db2sysc"),
    ProcessGroup(database="hana", name="hdbindexserver"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Perf(Strict):
    """`perf stat` as a child. profile: `auto` (by CPU), or the name of one; events: name -> perf expression,
    added to the profile's; server: count one server's processes (its `server` label), not the whole machine."""

    binary: str = "perf"
    interval: Annotated[Seconds, Ge(0.1)] = 10.0
    profile: Annotated[str, Check(_known_profile)] = "auto"
    events: Mapping[str, str] = field(default_factory=dict)
    server: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Required(Strict):
    """What the databases of this host need in huge pages.

    ase_memory: ASE's shared memory in 2 KiB pages (total logical memory, or max memory where `allocate max
    shared memory` is 1; all servers of the host together); memory_bytes: the same in bytes, for any database.
    headroom: in 2 MiB, whatever the page size.
    """

    ase_memory: Annotated[int, Gt(0)] | None = None
    memory_bytes: Annotated[int, Gt(0)] | None = None
    page_size: Annotated[str, Check(_known_size)] = "2MiB"
    headroom: Annotated[int, Ge(0)] = 512

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        if (self.ase_memory is None) == (self.memory_bytes is None):
            raise ValueError("expected exactly one of ase_memory, memory_bytes")


@dataclass(frozen=True, kw_only=True, slots=True)
class Collectors(Strict):
    """Which collectors run. perf is opt-in: it starts a process and needs a privilege."""

    hugepages: bool = True
    thp: bool = True
    numa: bool = True
    tlb: bool = True
    process: bool = True
    perf: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class HostConfig(Strict):
    """The host part. procfs and sysfs: where the host's own are mounted, in a container for example."""

    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    collectors: Collectors = field(default_factory=Collectors)
    processes: tuple[ProcessGroup, ...] = DEFAULT_PROCESSES
    smaps_interval: Seconds = 300.0
    perf: Perf = field(default_factory=Perf)
    required: Required | None = None
