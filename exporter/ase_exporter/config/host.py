"""Settings of the host metrics: collectors, mount points of /proc and /sys, and the settings of each collector."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, MinLen

from ase_exporter.config.fields import Seconds, Strict, Validator


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"expected a regular expression: {error}") from error
    return text


Pattern = Annotated[str, Validator(_pattern)]


@dataclass(frozen=True, kw_only=True, slots=True)
class PerfProfile(Strict):
    """Raw events of one CPU family; vendor, family and models as in /proc/cpuinfo."""

    vendor: str
    family: int
    models: tuple[int, ...]
    events: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiles(Strict):
    """The whole file. kernel: events that are read by their kernel names on a CPU without a profile."""

    common: Mapping[str, str]
    profiles: Mapping[str, PerfProfile]
    kernel: tuple[str, ...]


@cache
def perf_profiles() -> Profiles:
    """perf events by CPU family, as perf_profiles.yaml lists them."""
    # Imported here because it loads pydantic.
    from ase_exporter.config import yaml_files

    return yaml_files.load_shipped(Path(__file__).with_name("perf_profiles.yaml"), Profiles)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessGroup(Strict):
    """The processes of one kind of database.

    name: a regular expression that matches the whole process name (comm). server: a regular expression; its first
    group in the command line is the server's name. Without a match the server gets the name of the database.
    """

    database: Annotated[str, MinLen(1)]
    name: Pattern
    server: Pattern | None = None

    def __post_init__(self) -> None:
        if self.server is not None and re.compile(self.server).groups < 1:
            raise ValueError("server: expected a pattern with a group, such as -s(\\S+)")


# ASE has its server's name on the command line as -sNAME.
DEFAULT_PROCESSES = (
    ProcessGroup(database="ase", name="dataserver|diagserver", server=r"(?:^|\s)-s\s*(\S+)"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Perf(Strict):
    """Settings of `perf stat`, which runs as a child process and counts the whole host."""

    binary: str = "perf"
    interval: Annotated[Seconds, Ge(0.1)] = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Collectors(Strict):
    """Which collectors run. perf is off by default: it starts a process and needs a privilege."""

    hugepages: bool = True
    thp: bool = True
    numa: bool = True
    tlb: bool = True
    process: bool = True
    perf: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class HostConfig(Strict):
    """Host metrics. procfs, sysfs: where the host's /proc and /sys are mounted. smaps_interval: in seconds."""

    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    collectors: Collectors = field(default_factory=Collectors)
    processes: tuple[ProcessGroup, ...] = DEFAULT_PROCESSES
    smaps_interval: Seconds = 300.0
    perf: Perf = field(default_factory=Perf)
