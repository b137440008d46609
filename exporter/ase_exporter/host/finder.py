"""Finding the database processes of a host, by name or pid file, and telling its servers apart."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ase_exporter.host.config import ProcessGroup
from ase_exporter.host.files import list_numbered, read_text
from ase_exporter.host.procfiles import Stat, parse_stat

# A process looked at between fork and exec bore another name: it is looked at again soon after it was first seen,
# then seldom, and not together with all the others, for a host may have thousands.
_SOON_SECONDS = 60.0
_SELDOM_SECONDS = 600.0


class ServerKey(NamedTuple):
    """A database server on this host: the labels of all its metrics."""

    database: str
    server: str


@dataclass(slots=True)
class Server:
    """One server's processes. main: the one that started the others; stats: by pid, main included."""

    key: ServerKey
    main: int
    stats: dict[int, Stat] = field(default_factory=dict)


class ProcessFinder:
    """Finds servers among the processes under procfs; remembers which processes were none."""

    def __init__(
        self, procfs: str, groups: Iterable[ProcessGroup], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._procfs = procfs
        self._groups = [(group, re.compile(group.name) if group.name else None) for group in groups]
        self._clock = clock
        self._known: dict[int, tuple[ProcessGroup | None, float]] = {}
        self._servers: dict[tuple[int, int], ServerKey] = {}

    def find(self) -> list[Server]:
        """All servers, each with every process of the same group below its main one."""
        members = dict(self._members())
        servers: dict[ServerKey, Server] = {}
        keys: dict[tuple[int, int], ServerKey] = {}
        for pid, (group, stat) in members.items():
            main = _ancestor(pid, members)
            identity = (main, members[main][1].start)
            key = keys.get(identity) or self._servers.get(identity) or self._name(main, group)
            keys[identity] = key
            servers.setdefault(key, Server(key, main)).stats[pid] = stat
        self._servers = keys
        return [servers[key] for key in sorted(servers)]

    def _members(self) -> Iterator[tuple[int, tuple[ProcessGroup, Stat]]]:
        from_files = self._pid_files()
        now = self._clock()
        before, self._known = self._known, {}
        for pid in list_numbered(self._procfs):
            if pid not in before:
                self._known[pid] = self._match(self._comm(pid)), now + _SOON_SECONDS
            elif now >= before[pid][1]:
                spread = 0.5 + pid % 100 / 100
                self._known[pid] = self._match(self._comm(pid)), now + _SELDOM_SECONDS * spread
            else:
                self._known[pid] = before[pid]
            group = from_files.get(pid, self._known[pid][0])
            if group is None or not (text := read_text(f"{self._procfs}/{pid}/stat")):
                continue
            stat = parse_stat(text)
            if pid in from_files or self._match(stat.name) is group:
                yield pid, (group, stat)
            else:  # the pid has been given to another process
                del self._known[pid]

    def _comm(self, pid: int) -> str:
        return (read_text(f"{self._procfs}/{pid}/comm") or "").rstrip("\n")

    def _match(self, name: str) -> ProcessGroup | None:
        for group, pattern in self._groups:
            if pattern is not None and pattern.fullmatch(name):
                return group
        return None

    def _pid_files(self) -> dict[int, ProcessGroup]:
        """The processes named by pid files, and all that they started."""
        found: dict[int, ProcessGroup] = {}
        for group, _ in self._groups:
            if group.pid_file is None:
                continue
            waiting = (read_text(str(group.pid_file)) or "").split()[:1]
            while waiting:
                pid = waiting.pop()
                if pid.isdecimal():
                    found[int(pid)] = group
                    waiting += (read_text(f"{self._procfs}/{pid}/task/{pid}/children") or "").split()
        return found

    def _name(self, pid: int, group: ProcessGroup) -> ServerKey:
        command = (read_text(f"{self._procfs}/{pid}/cmdline") or "").replace("\0", " ")
        match = re.search(group.server, command) if group.server else None
        return ServerKey(group.database, match[1] if match else group.database)


def _ancestor(pid: int, members: dict[int, tuple[ProcessGroup, Stat]]) -> int:
    """The topmost process above pid that belongs to the same group."""
    group = members[pid][0]
    while (parent := members[pid][1].parent) in members and members[parent][0] is group:
        pid = parent
    return pid
