"""Finds the database processes of a host by name, and groups them into servers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ase_exporter.config.host import ProcessGroup
from ase_exporter.host.files import list_numbered, read_kernel_text
from ase_exporter.untrusted.entry import one_line

# Characters of a server's name: any user may start a process with any arguments.
MAX_NAME = 100


class ServerKey(NamedTuple):
    """Identifies a database server on this host: the label values of its metrics."""

    database: str
    server: str


class ProcessStat(NamedTuple):
    """/proc/PID/stat. start: in clock ticks since boot; tells reused pids apart.

    counted: user and system time in clock ticks, minor and major faults.
    """

    parent: int
    start: int
    counted: tuple[int, int, int, int]


def parse_stat(text: str) -> ProcessStat:
    """Parse /proc/PID/stat. The name in parentheses may itself contain blanks and parentheses."""
    fields = text.rpartition(")")[2].split()
    minor, major, user, system = (int(fields[index]) for index in (7, 9, 11, 12))
    return ProcessStat(int(fields[1]), int(fields[19]), (user, system, minor, major))


@dataclass(slots=True)
class ServerProcesses:
    """One server's processes. main: pid of their common ancestor; stats: by pid, main included."""

    key: ServerKey
    main: int
    stats: dict[int, ProcessStat] = field(default_factory=dict)


def find_servers(procfs: str, groups: Iterable[ProcessGroup]) -> list[ServerProcesses]:
    """Return all servers, each with its main process and the descendants in the same group."""
    patterns = [(group, re.compile(group.name)) for group in groups]
    members: dict[int, tuple[ProcessGroup, ProcessStat]] = {}
    for pid in list_numbered(procfs):
        name = (read_kernel_text(f"{procfs}/{pid}/comm") or "").rstrip("\n")
        group = next((group for group, pattern in patterns if pattern.fullmatch(name)), None)
        if group and (text := read_kernel_text(f"{procfs}/{pid}/stat")):
            members[pid] = group, parse_stat(text)
    servers: dict[ServerKey, ServerProcesses] = {}
    for pid, (group, stat) in members.items():
        # A pid that another process has by now may make one seem to descend from itself.
        main, left = pid, len(members)
        while left and (parent := members[main][1].parent) in members and members[parent][0] is group:
            main, left = parent, left - 1
        key = _server_key(procfs, main, group)
        servers.setdefault(key, ServerProcesses(key, main)).stats[pid] = stat
    return [servers[key] for key in sorted(servers)]


def _server_key(procfs: str, pid: int, group: ProcessGroup) -> ServerKey:
    command = (read_kernel_text(f"{procfs}/{pid}/cmdline") or "").replace("\0", " ")
    match = re.search(group.server, command) if group.server else None
    return ServerKey(group.database, one_line(match[1])[:MAX_NAME] if match else group.database)
