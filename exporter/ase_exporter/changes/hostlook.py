"""Looking at the machine: settings of kernel and hardware that decide how a database runs."""

import os
import time

from ase_exporter.changes.snapshot import Look, Part, Setting, Snapshot, encode
from ase_exporter.host.files import parse_meminfo, read_text
from ase_exporter.host.hugepages import host_pools
from ase_exporter.host.thp import parse_mode

# A balloon driver moves the memory of a virtual machine by a little all the time.
_MEMORY_TOLERANCE = 0.01


class HostWatch:
    """Looks at this machine; procfs and sysfs say where its /proc and /sys are."""

    def __init__(self, procfs: str = "/proc", sysfs: str = "/sys") -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._memory = 0

    def look(self) -> Look:
        """Read everything once; what this kernel does not offer is left out."""
        now = time.time()
        moments = {}
        uptime = read_text(f"{self._procfs}/uptime")
        if uptime:
            moments["restart"] = now - float(uptime.split()[0])
        return Look(at=now, snapshot=encode(self.snapshot()), moments=moments)

    def snapshot(self) -> Snapshot:
        """THP modes, huge pages by size, CPUs, memory, kernel, NUMA balancing, boot."""
        values = {
            "thp": self._thp_modes(),
            "hugepages": {
                f"nr_hugepages {pool.size}": str(pool.total - pool.surplus)
                for pool in host_pools(self._sysfs)
            },
            "cpus": self._one("online", f"{self._sysfs}/devices/system/cpu/online"),
            "memory": self._memory_total(),
            "kernel": {"release": os.uname().release},
            "numa_balancing": self._one("mode", f"{self._procfs}/sys/kernel/numa_balancing"),
            "restart": self._one("boot", f"{self._procfs}/sys/kernel/random/boot_id"),
        }
        return {
            kind: Part(kind, kind, {name: {"": Setting(value)} for name, value in objects.items()})
            for kind, objects in values.items()
            if objects
        }

    def _one(self, name: str, path: str) -> dict[str, str]:
        text = read_text(path)
        return {name: text.strip()} if text and text.strip() else {}

    def _thp_modes(self) -> dict[str, str]:
        directory = f"{self._sysfs}/kernel/mm/transparent_hugepage"
        texts = {name: read_text(f"{directory}/{name}") for name in ("enabled", "defrag", "shmem_enabled")}
        return {name: parse_mode(text)[0] for name, text in texts.items() if text}

    def _memory_total(self) -> dict[str, str]:
        total = parse_meminfo(read_text(f"{self._procfs}/meminfo") or "").get("MemTotal", 0)
        if abs(total - self._memory) > _MEMORY_TOLERANCE * self._memory:
            self._memory = total
        return {"MemTotal": f"{self._memory >> 20} MiB"} if self._memory else {}
