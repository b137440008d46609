"""Configuration snapshots of the host: kernel and hardware settings that affect a database."""

import os
import time

from ase_exporter.changes.snapshot import ConfigSnapshot, Part, Parts, Setting, encode
from ase_exporter.host.files import parse_sizes, read_kernel_text
from ase_exporter.host.kernel import host_pools, parse_mode

# Relative; the balloon driver of a virtual machine changes its memory a little all the time.
_MEMORY_TOLERANCE = 0.01


class HostWatcher:
    """Takes configuration snapshots of this host. procfs, sysfs: where its /proc and /sys are mounted."""

    def __init__(self, procfs: str = "/proc", sysfs: str = "/sys") -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._memory = 0

    def take_snapshot(self) -> ConfigSnapshot:
        """Read all parts once; those that this kernel does not have are left out."""
        now = time.time()
        moments = {}
        uptime = read_kernel_text(f"{self._procfs}/uptime")
        if uptime:
            moments["restart"] = now - float(uptime.split()[0])
        return ConfigSnapshot(at=now, encoded_parts=encode(self.parts()), moments=moments)

    def parts(self) -> Parts:
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
        text = read_kernel_text(path)
        return {name: text.strip()} if text and text.strip() else {}

    def _thp_modes(self) -> dict[str, str]:
        directory = f"{self._sysfs}/kernel/mm/transparent_hugepage"
        texts = {
            name: read_kernel_text(f"{directory}/{name}") for name in ("enabled", "defrag", "shmem_enabled")
        }
        return {name: parse_mode(text)[0] for name, text in texts.items() if text}

    def _memory_total(self) -> dict[str, str]:
        total = parse_sizes(read_kernel_text(f"{self._procfs}/meminfo") or "").get("MemTotal", 0)
        if abs(total - self._memory) > _MEMORY_TOLERANCE * self._memory:
            self._memory = total
        return {"MemTotal": f"{self._memory >> 20} MiB"} if self._memory else {}
