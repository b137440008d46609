"""THP collector: modes, khugepaged, and events (/proc/vmstat thp_*, htlb_*, compact_*)."""

import re
from collections.abc import Iterator, Mapping

from ase_exporter.host.declared import family, keys, of_group
from ase_exporter.host.files import NotOfferedError, list_names, parse_numbers, read_int, read_kernel_text
from ase_exporter.metrics.families import Family, single

_VMSTAT_PREFIXES = ("thp_", "htlb_")
_VMSTAT_COMPACTION = ("compact_stall", "compact_fail", "compact_success", "compact_daemon_wake")


def parse_mode(text: str) -> tuple[str, list[str]]:
    """Parse `always [madvise] never` into the active mode and all modes; ("", …) if none is bracketed."""
    modes = text.replace("[", "").replace("]", "").split()
    chosen = re.search(r"\[(\S+)\]", text)
    return chosen[1] if chosen else "", modes


def thp_mode(sysfs: str) -> str | None:
    """Return the most permissive mode in effect: always, madvise or never; None if the kernel has no THP.

    Since Linux 6.8 each page size has its own mode, which overrides the general one unless it is `inherit`.
    """
    thp = f"{sysfs}/kernel/mm/transparent_hugepage"
    text = read_kernel_text(f"{thp}/enabled")
    if not text:
        return None
    general = parse_mode(text)[0]
    modes = {general if mode == "inherit" else mode for mode in _size_modes(thp).values()} or {general}
    return next((mode for mode in ("always", "madvise") if mode in modes), "never")


def _size_modes(thp: str) -> dict[str, str]:
    """Return page size (64kB) -> mode, for the sizes that have one."""
    texts = {
        name.removeprefix("hugepages-"): read_kernel_text(f"{thp}/{name}/enabled")
        for name in sorted(list_names(thp))
        if name.startswith("hugepages-")
    }
    return {size: parse_mode(text)[0] for size, text in texts.items() if text}


class ThpCollector:
    """Transparent huge pages: modes and khugepaged from sysfs, events from /proc/vmstat."""

    name = "thp"

    def __init__(self, procfs: str, sysfs: str) -> None:
        self._vmstat = f"{procfs}/vmstat"
        self._thp = f"{sysfs}/kernel/mm/transparent_hugepage"

    def collect(self) -> Iterator[Family]:
        """Yield modes, khugepaged settings and progress, vmstat events. Raises NotOfferedError without any."""
        events = dict(parse_numbers(read_kernel_text(self._vmstat) or ""))
        families = [*self._modes(), *self._khugepaged(), *_vmstat_families(events)]
        if not families:
            raise NotOfferedError("neither /sys/kernel/mm/transparent_hugepage nor /proc/vmstat tells of THP")
        yield from families

    def _modes(self) -> Iterator[Family]:
        texts = {metric: read_kernel_text(f"{self._thp}/{file}") for file, metric in keys("thp_mode").items()}
        for metric, text in texts.items():
            if text:
                chosen, modes = parse_mode(text)
                yield family(metric, [((mode,), mode == chosen) for mode in modes])
        if sizes := _size_modes(self._thp):
            # Since Linux 6.8; `inherit` uses the general mode.
            yield family("dbhost_thp_size_enabled", [((mode, size), 1) for size, mode in sizes.items()])
        yield from of_group("thp", {(): {file: read_int(f"{self._thp}/{file}") for file in keys("thp")}})

    def _khugepaged(self) -> Iterator[Family]:
        values: dict[str, float | None] = {}
        for file in keys("khugepaged"):
            number = read_int(f"{self._thp}/khugepaged/{file}")
            values[file] = number / 1000 if number is not None and file.endswith("_millisecs") else number
        yield from of_group("khugepaged", {(): values})


def _vmstat_families(events: Mapping[str, int]) -> Iterator[Family]:
    for event, count in events.items():
        if event.startswith(_VMSTAT_PREFIXES) or event in _VMSTAT_COMPACTION:
            yield single(f"dbhost_vmstat_{event}_total", "counter", f"/proc/vmstat {event}.", count)
