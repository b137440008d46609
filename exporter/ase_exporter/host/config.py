"""Settings of the host part: which collectors run, where /proc and /sys are, and what each needs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from ase_exporter.host.perf_profiles import shipped
from ase_exporter.settings import Model, Seconds


class ProcessGroup(Model):
    """One kind of database process.

    name: a pattern for the whole process name (comm); pid_file: a file whose first word is the main process's
    id. One of both. server: a pattern whose first group, found in the command line, is the server's name;
    without a match the database's name stands for it.
    """

    database: Annotated[str, Field(min_length=1)]
    name: str | None = None
    pid_file: Path | None = None
    server: str | None = None

    @field_validator("name", "server")
    @classmethod
    def _pattern(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"expected a regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.name is None) == (self.pid_file is None):
            raise ValueError("expected exactly one of name, pid_file")
        if self.server is not None and re.compile(self.server).groups < 1:
            raise ValueError("server: expected a pattern with a group, such as -s(\\S+)")
        return self


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


class Perf(Model):
    """`perf stat` as a child. profile: `auto` (by CPU), or the name of one; events: name -> perf expression,
    added to the profile's; server: count one server's processes (its `server` label), not the whole machine."""

    binary: str = "perf"
    interval: Annotated[Seconds, Field(ge=0.1)] = 10.0
    profile: str = "auto"
    events: Mapping[str, str] = {}
    server: str | None = None

    @field_validator("profile")
    @classmethod
    def _known_profile(cls, value: str) -> str:
        if value not in (known := ("auto", "kernel", *shipped().profiles)):
            raise ValueError(f"expected one of {', '.join(known)}")
        return value


class Required(Model):
    """What the databases of this host need in huge pages.

    ase_memory: ASE's shared memory in 2 KiB pages (total logical memory, or max memory where `allocate max
    shared memory` is 1; all servers of the host together); memory_bytes: the same in bytes, for any database.
    headroom: in 2 MiB, whatever the page size.
    """

    ase_memory: Annotated[int, Field(gt=0)] | None = None
    memory_bytes: Annotated[int, Field(gt=0)] | None = None
    page_size: str = "2MiB"
    headroom: Annotated[int, Field(ge=0)] = 512

    @field_validator("page_size")
    @classmethod
    def _known_size(cls, value: str) -> str:
        if value not in ("2MiB", "1GiB"):
            raise ValueError("expected 2MiB or 1GiB")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.ase_memory is None) == (self.memory_bytes is None):
            raise ValueError("expected exactly one of ase_memory, memory_bytes")
        return self


class Collectors(Model):
    """Which collectors run. perf is opt-in: it starts a process and needs a privilege."""

    hugepages: bool = True
    thp: bool = True
    numa: bool = True
    tlb: bool = True
    process: bool = True
    perf: bool = False


class HostConfig(Model):
    """The host part. procfs and sysfs: where the host's own are mounted, in a container for example."""

    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    collectors: Collectors = Collectors()
    processes: tuple[ProcessGroup, ...] = DEFAULT_PROCESSES
    smaps_interval: Seconds = 300.0
    perf: Perf = Perf()
    required: Required | None = None
