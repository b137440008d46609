"""What database servers have used, as counters that only grow while their processes, and the exporter, come and go.

As with the counters of a server, the first reading is the base: totals start at 0. They outlive reloads and, in a state
directory, the exporter: what processes used meanwhile is counted.
"""

import logging
import os
from collections.abc import Sequence
from operator import add, sub
from pathlib import Path
from typing import Annotated

import msgspec

from ase_exporter.host.files import read_kernel_text
from ase_exporter.host.process_finder import ServerKey, ServerProcesses
from ase_exporter.regular_files import read_bytes, write_bytes

log = logging.getLogger(__name__)

FILE = "host.totals"
# Servers that are not there any more are forgotten beyond so many, those that were seen first before the others.
MAX_SERVERS = 1000
TICK = 1 / os.sysconf("SC_CLK_TCK")

_Count = Annotated[int, msgspec.Meta(ge=0)]
# Of `ProcessStat.counted`.
Counted = tuple[_Count, _Count, _Count, _Count]
_NOTHING: Counted = (0, 0, 0, 0)


class _State(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What is kept. uptime: of the last reading, in seconds since that boot; processes: by pid and start."""

    boot_id: str = ""
    uptime: float | None = None
    servers: dict[ServerKey, Counted] = {}
    processes: dict[tuple[int, int], Counted] = {}


class ProcessTotals:
    """The totals of all servers of a host. directory: the state directory; None keeps them in memory only."""

    def __init__(self, directory: Path | None = None) -> None:
        self._file = directory / FILE if directory else None
        self._state = _State()
        self._problem = ""
        if self._file:
            try:
                self._state = msgspec.msgpack.decode(read_bytes(self._file), type=_State)
            except FileNotFoundError:
                pass
            except (OSError, msgspec.MsgspecError) as error:
                log.warning("%s: totals of processes restart at 0: %s", self._file, error)

    def advance(self, procfs: str, servers: Sequence[ServerProcesses]) -> dict[ServerKey, Counted]:
        """Add what each process used since the last reading; returns the totals of these servers."""
        last = self._state
        boot_id = (read_kernel_text(f"{procfs}/sys/kernel/random/boot_id") or "").strip()
        if boot_id != last.boot_id and last.uptime is not None:
            # All processes have started since the last reading.
            last = _State(boot_id, 0.0, last.servers)
        uptime = float((read_kernel_text(f"{procfs}/uptime") or "0").split()[0])
        totals, processes = dict(last.servers), dict[tuple[int, int], Counted]()
        for server in servers:
            total = totals.pop(server.key, _NOTHING)
            for pid, stat in server.stats.items():
                new = last.uptime is not None and stat.start * TICK >= last.uptime
                # A process that was there, but was not seen, has a past that is not known.
                before = last.processes.get((pid, stat.start), _NOTHING if new else stat.counted)
                user, system, minor, major = map(add, total, map(sub, stat.counted, before))
                total = user, system, minor, major
                processes[pid, stat.start] = stat.counted
            totals[server.key] = total
        kept = dict(list(totals.items())[-MAX_SERVERS:])
        self._state = _State(boot_id, uptime, kept, processes)
        self._save()
        return {server.key: totals[server.key] for server in servers}

    def _save(self) -> None:
        if not self._file:
            return
        try:
            write_bytes(self._file, msgspec.msgpack.encode(self._state))
        except OSError as error:
            if not self._problem:
                log.error("%s: totals of processes cannot be written: %s", self._file, error.strerror)
            self._problem = str(error)
        else:
            self._problem = ""
