"""THP collector: modes, khugepaged, and events (/proc/vmstat thp_*, htlb_*, compact_*)."""

import re
from collections.abc import Iterator, Mapping

from ase_exporter.host.files import NotOfferedError, list_names, parse_numbers, read_int, read_text
from ase_exporter.metrics.families import Family, single

# file -> metric, what the mode controls
_MODES = {
    "enabled": ("dbhost_thp_enabled", "Which memory gets transparent huge pages"),
    "defrag": ("dbhost_thp_defrag", "How hard a page fault tries to get a transparent huge page"),
    "shmem_enabled": ("dbhost_thp_shmem_enabled", "Which shared memory gets transparent huge pages"),
}

# file under khugepaged/ -> metric, factor to the base unit, what it sets
_KHUGEPAGED_SETTINGS = {
    "alloc_sleep_millisecs": (
        "dbhost_khugepaged_alloc_sleep_seconds",
        1e-3,
        "Wait after a failed allocation",
    ),
    "scan_sleep_millisecs": ("dbhost_khugepaged_scan_sleep_seconds", 1e-3, "Wait between two passes"),
    "defrag": ("dbhost_khugepaged_defrag", 1, "Whether khugepaged may compact memory (1) or not (0)"),
    "max_ptes_none": (
        "dbhost_khugepaged_max_ptes_none",
        1,
        "Maximum absent small pages in a collapsed range",
    ),
    "max_ptes_shared": (
        "dbhost_khugepaged_max_ptes_shared",
        1,
        "Maximum shared small pages in a collapsed range",
    ),
    "max_ptes_swap": (
        "dbhost_khugepaged_max_ptes_swap",
        1,
        "Maximum swapped small pages in a collapsed range",
    ),
    "pages_to_scan": ("dbhost_khugepaged_pages_to_scan", 1, "Pages scanned in one pass"),
}
_KHUGEPAGED_PROGRESS = {
    "full_scans": ("dbhost_khugepaged_full_scans_total", "Scans of all memory by khugepaged"),
    "pages_collapsed": (
        "dbhost_khugepaged_pages_collapsed_total",
        "Huge pages that khugepaged made of small ones",
    ),
}

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
    text = read_text(f"{thp}/enabled")
    if not text:
        return None
    general = parse_mode(text)[0]
    modes = {general if mode == "inherit" else mode for mode in _size_modes(thp).values()} or {general}
    return next((mode for mode in ("always", "madvise") if mode in modes), "never")


def _size_modes(thp: str) -> dict[str, str]:
    """Return page size (64kB) -> mode, for the sizes that have one."""
    texts = {
        name.removeprefix("hugepages-"): read_text(f"{thp}/{name}/enabled")
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
        events = dict(parse_numbers(read_text(self._vmstat) or ""))
        families = [*self._modes(), *self._khugepaged(), *_vmstat_families(events)]
        if not families:
            raise NotOfferedError("neither /sys/kernel/mm/transparent_hugepage nor /proc/vmstat tells of THP")
        yield from families

    def _modes(self) -> Iterator[Family]:
        for file, (metric, what) in _MODES.items():
            if text := read_text(f"{self._thp}/{file}"):
                family = Family(
                    metric,
                    "gauge",
                    f"{what}: 1 for the active mode (transparent_hugepage/{file}).",
                    ("mode",),
                )
                chosen, modes = parse_mode(text)
                for mode in modes:
                    family.add(mode == chosen, mode)
                yield family
        yield from self._sizes()
        if (zero_page := read_int(f"{self._thp}/use_zero_page")) is not None:
            yield single(
                "dbhost_thp_use_zero_page",
                "gauge",
                "Whether untouched memory reads from a huge zero page (transparent_hugepage/use_zero_page).",
                zero_page,
            )
        if (size := read_int(f"{self._thp}/hpage_pmd_size")) is not None:
            yield single(
                "dbhost_thp_size_bytes",
                "gauge",
                "Size of a transparent huge page (transparent_hugepage/hpage_pmd_size).",
                size,
            )

    def _sizes(self) -> Iterator[Family]:
        """Yield the mode of each page size (since Linux 6.8); `inherit` uses the general one."""
        family = Family(
            "dbhost_thp_size_enabled",
            "gauge",
            "Which memory gets transparent huge pages of a size; only the active mode is exported "
            "(transparent_hugepage/hugepages-*/enabled).",
            ("mode", "size"),
        )
        for size, mode in _size_modes(self._thp).items():
            family.add(1, mode, size)
        if family.samples:
            yield family

    def _khugepaged(self) -> Iterator[Family]:
        for file, (metric, factor, what) in _KHUGEPAGED_SETTINGS.items():
            if (value := read_int(f"{self._thp}/khugepaged/{file}")) is not None:
                yield single(metric, "gauge", f"{what} (khugepaged/{file}).", value * factor)
        for file, (metric, what) in _KHUGEPAGED_PROGRESS.items():
            if (value := read_int(f"{self._thp}/khugepaged/{file}")) is not None:
                yield single(metric, "counter", f"{what} (khugepaged/{file}).", value)


def _vmstat_families(events: Mapping[str, int]) -> Iterator[Family]:
    for event, count in events.items():
        if event.startswith(_VMSTAT_PREFIXES) or event in _VMSTAT_COMPACTION:
            yield single(f"dbhost_vmstat_{event}_total", "counter", f"/proc/vmstat {event}.", count)
