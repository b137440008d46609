"""Finds the database processes of a host by name, and groups them into servers."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ase_exporter.config.host import ProcessGroup
from ase_exporter.host.files import list_numbered, read_kernel_text

# A process seen between fork and exec still has its parent's name, so a new pid is checked again after
# _FIRST_RECHECK_SECONDS. Later checks are rare and spread by pid, because a host may have thousands of processes.
_FIRST_RECHECK_SECONDS = 60.0
_RECHECK_SECONDS = 600.0


class ServerKey(NamedTuple):
    """Identifies a database server on this host: the label values of its metrics."""

    database: str
    server: str


class ProcessStat(NamedTuple):
    """/proc/PID/stat. start: in clock ticks since boot; tells reused pids apart.

    counted: user and system time in clock ticks, minor and major faults.
    """

    name: str
    parent: int
    start: int
    counted: tuple[int, int, int, int]


def parse_stat(text: str) -> ProcessStat:
    """Parse /proc/PID/stat. The name in parentheses may itself contain blanks and parentheses."""
    name_end = text.rindex(")")
    fields = text[name_end + 1 :].split()
    minor, major, user, system = (int(fields[index]) for index in (7, 9, 11, 12))
    name = text[text.index("(") + 1 : name_end]
    return ProcessStat(name, int(fields[1]), int(fields[19]), (user, system, minor, major))


@dataclass(slots=True)
class ServerProcesses:
    """One server's processes. main: pid of their common ancestor; stats: by pid, main included."""

    key: ServerKey
    main: int
    stats: dict[int, ProcessStat] = field(default_factory=dict)


class ProcessFinder:
    """Finds servers among the processes under procfs; caches which processes belong to none."""

    def __init__(
        self, procfs: str, groups: Iterable[ProcessGroup], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._procfs = procfs
        self._groups = [(group, re.compile(group.name)) for group in groups]
        self._clock = clock
        self._known: dict[int, tuple[ProcessGroup | None, float]] = {}

    def find(self) -> list[ServerProcesses]:
        """Return all servers, each with its main process and the descendants in the same group."""
        members = dict(self._members())
        servers: dict[ServerKey, ServerProcesses] = {}
        keys: dict[int, ServerKey] = {}
        for pid, (group, stat) in members.items():
            main = _ancestor(pid, members)
            if main not in keys:
                keys[main] = self._name(main, group)
            servers.setdefault(keys[main], ServerProcesses(keys[main], main)).stats[pid] = stat
        return [servers[key] for key in sorted(servers)]

    def _members(self) -> Iterator[tuple[int, tuple[ProcessGroup, ProcessStat]]]:
        now = self._clock()
        before, self._known = self._known, {}
        for pid in list_numbered(self._procfs):
            if pid not in before:
                self._known[pid] = self._match(self._comm(pid)), now + _FIRST_RECHECK_SECONDS
            elif now >= before[pid][1]:
                spread = 0.5 + pid % 100 / 100
                self._known[pid] = self._match(self._comm(pid)), now + _RECHECK_SECONDS * spread
            else:
                self._known[pid] = before[pid]
            group = self._known[pid][0]
            if group is None or not (text := read_kernel_text(f"{self._procfs}/{pid}/stat")):
                continue
            stat = parse_stat(text)
            if self._match(stat.name) is group:
                yield pid, (group, stat)
            else:  # the pid was reused by another process
                del self._known[pid]

    def _comm(self, pid: int) -> str:
        return (read_kernel_text(f"{self._procfs}/{pid}/comm") or "").rstrip("\n")

    def _match(self, name: str) -> ProcessGroup | None:
        return next((group for group, pattern in self._groups if pattern.fullmatch(name)), None)

    def _name(self, pid: int, group: ProcessGroup) -> ServerKey:
        command = (read_kernel_text(f"{self._procfs}/{pid}/cmdline") or "").replace("\0", " ")
        match = re.search(group.server, command) if group.server else None
        return ServerKey(group.database, match[1] if match else group.database)


def _ancestor(pid: int, members: dict[int, tuple[ProcessGroup, ProcessStat]]) -> int:
    """Return the topmost ancestor of pid in the same group."""
    group = members[pid][0]
    while (parent := members[pid][1].parent) in members and members[parent][0] is group:
        pid = parent
    return pid
