"""TLB collector: shootdowns (one CPU invalidates translations cached by the others) and flushes."""

from collections.abc import Iterator

from ase_exporter.host.files import NotOfferedError, parse_numbers, read_text
from ase_exporter.metrics.families import Family, single

# line of /proc/vmstat -> metric, what it counts (kernels built with CONFIG_DEBUG_TLBFLUSH)
_FLUSHES = {
    "nr_tlb_remote_flush": ("dbhost_tlb_remote_flushes_total", "Flushes sent to other CPUs"),
    "nr_tlb_remote_flush_received": (
        "dbhost_tlb_remote_flushes_received_total",
        "Flushes received from other CPUs",
    ),
    "nr_tlb_local_flush_all": ("dbhost_tlb_local_flushes_all_total", "Flushes of a CPU's own whole TLB"),
    "nr_tlb_local_flush_one": (
        "dbhost_tlb_local_flushes_one_total",
        "Flushes of a page of a CPU's own TLB",
    ),
}


def parse_shootdowns(interrupts: str) -> int | None:
    """Return the TLB line of /proc/interrupts, summed over CPUs; None if the architecture has none.

    Summed, because a series per CPU would be hundreds of series for one fact.
    """
    for line in interrupts.splitlines():
        words = line.split()
        if words[:1] == ["TLB:"]:
            return sum(int(word) for word in words[1:] if word.isdecimal())
    return None


class TlbCollector:
    """TLB shootdowns from /proc/interrupts, flushes from /proc/vmstat."""

    name = "tlb"

    def __init__(self, procfs: str) -> None:
        self._procfs = procfs

    def collect(self) -> Iterator[Family]:
        """Yield shootdowns, then flushes. Raises NotOfferedError if the kernel counts neither."""
        shootdowns = parse_shootdowns(read_text(f"{self._procfs}/interrupts") or "")
        events = dict(parse_numbers(read_text(f"{self._procfs}/vmstat") or ""))
        flushes = {event: count for event, count in events.items() if event in _FLUSHES}
        if shootdowns is None and not flushes:
            raise NotOfferedError("no TLB line in /proc/interrupts")
        if shootdowns is not None:
            yield single(
                "dbhost_tlb_shootdowns_total",
                "counter",
                "TLB shootdown interrupts, all CPUs (/proc/interrupts TLB).",
                shootdowns,
            )
        for event, count in flushes.items():
            metric, what = _FLUSHES[event]
            yield single(metric, "counter", f"{what} (/proc/vmstat {event}).", count)
