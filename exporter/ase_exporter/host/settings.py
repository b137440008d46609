"""What to set so that a host has the huge pages of ASE: what works on that host, and why the rest does not."""

from collections.abc import Iterator
from typing import NamedTuple

from ase_exporter.host.sizing import Requirement
from ase_exporter.host.state import UNITS, HostState, relevant, used_by_others
from ase_exporter.views.figures import shown

# What is left of the memory for everything else is said where it is less than this share.
_SCARCE = 1 / 16


class HostSetting(NamedTuple):
    """Where, what to write there, and what to know; without lines it is left out, for the reason `note`."""

    where: str
    lines: tuple[str, ...] = ()
    note: str = ""


def what_to_set(need: Requirement, host: HostState) -> Iterator[HostSetting]:
    """What to set; one setting without lines if the host cannot have these pages."""
    others = used_by_others(host.pool(need.page_size), relevant(need, host))
    pages = need.pages + others
    if reason := obstacle(need, host, pages):
        yield HostSetting("nothing", note=reason)
        return
    notes = ["on the host of this container"] if host.container else []
    notes += [f"with {others:,} pages of other programs"] if others else []
    if host.memory and (left := host.memory - _taken(need, host, pages)) < host.memory * _SCARCE:
        notes.append(f"leaves {shown(left, 'bytes')} of memory for everything else")
    yield from _pool(need, host, pages, notes)
    if host.container:
        yield HostSetting(
            "start of the container (limits.d has no effect in it)",
            (f"--ulimit memlock={need.memlock_kib * 1024}:{need.memlock_kib * 1024}",),
            f"Kubernetes: a limit hugepages-{_short(need.page_size)}i of {need.pages * need.page_size} bytes",
        )
    else:
        limits = tuple(f"sybase {kind} memlock {need.memlock_kib}" for kind in ("soft", "hard"))
        yield HostSetting("/etc/security/limits.d/99999-sybase-memlock.conf", limits)
    yield HostSetting("RUN_SERVER file, before the dataserver line", (f"ulimit -l {need.memlock_kib}",))
    yield HostSetting(
        "ASE (2 = huge pages only; the option name is case-sensitive; needs a restart)",
        ("sp_configure 'enable HugePages', 2",),
    )


def obstacle(need: Requirement, host: HostState, pages: int) -> str | None:
    """Why the host cannot have so many pages; None if it can."""
    if not host.sizes:
        return "this kernel offers no huge pages"
    if need.page_size not in host.sizes:
        return f"this host has no pages of {need.size}, only {host.offered}"
    if host.memory is None:
        return "the memory of this host is not known: its meminfo has no MemTotal"
    if (taken := _taken(need, host, pages)) <= host.memory:
        return None
    wanted = pages * need.page_size
    held = taken - wanted
    text = f"{pages:,} pages of {need.size} are {shown(wanted, 'bytes')}, and this host has "
    text += f"{shown(host.memory, 'bytes')} of memory"
    return f"{text}, of which huge pages of other sizes hold {shown(held, 'bytes')}" if held else text


def _taken(need: Requirement, host: HostState, pages: int) -> int:
    """Bytes in so many pages and in those of other sizes, which stay."""
    others = (pool for pool in host.pools if pool.size_bytes != need.page_size)
    return pages * need.page_size + sum(pool.total * pool.size_bytes for pool in others)


def _pool(need: Requirement, host: HostState, pages: int, notes: list[str]) -> Iterator[HostSetting]:
    """Where the number of pages is set: for good, for now and at boot."""
    note = ", ".join(notes)
    sysctl, now, boot = "/etc/sysctl.conf", "now, until the next boot", "kernel boot line"
    thp = "" if host.thp is None else " transparent_hugepage=never"
    if need.page_size in host.firmware_sizes:
        reason = f"the firmware sets pages of {need.size} aside (HMC: huge pages of the partition)"
        yield from (HostSetting(place, note=reason) for place in (sysctl, now, boot))
    elif need.page_size == host.default_size:
        yield HostSetting(sysctl, (f"vm.nr_hugepages={pages}",), note)
        file = f"/sys/kernel/mm/hugepages/hugepages-{need.size}/nr_hugepages"
        yield HostSetting(
            now, (f"echo {pages} > {file}",), ", ".join([*notes, "fewer if memory is fragmented"])
        )
        yield HostSetting(boot, (f"hugepages={pages}{thp}",), note)
    else:
        default = (
            "a size that is not known" if host.default_size is None else f"{host.default_size // 1024}kB"
        )
        after = f"remove vm.nr_hugepages before the reboot, after which it would count pages of {need.size}"
        yield HostSetting(sysctl, note=f"it counts pages of the default size, {default}; {after}")
        yield HostSetting(
            now, note="ASE asks for pages of the default size, which the boot line alone changes"
        )
        size = _short(need.page_size)
        line = f"default_hugepagesz={size} hugepagesz={size} hugepages={pages}{thp}"
        yield HostSetting(boot, (line,), note)


def _short(size: int) -> str:
    """The size as the boot line has it: 64K, 2M, 1G."""
    unit = next(unit for unit in "GMK" if size % UNITS[unit] == 0)
    return f"{size // UNITS[unit]}{unit}"
