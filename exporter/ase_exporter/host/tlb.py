"""TLB collector: shootdowns (one CPU invalidates translations cached by the others) and flushes."""

from collections.abc import Iterator

from ase_exporter.host.declared import of_group
from ase_exporter.host.files import NotOfferedError, parse_numbers, read_kernel_text
from ase_exporter.metrics.families import Family


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
        shootdowns = parse_shootdowns(read_kernel_text(f"{self._procfs}/interrupts") or "")
        # Flushes are counted by kernels built with CONFIG_DEBUG_TLBFLUSH.
        events = dict(parse_numbers(read_kernel_text(f"{self._procfs}/vmstat") or ""))
        families = list(of_group("tlb", {(): {**events, "TLB": shootdowns}}))
        if not families:
            raise NotOfferedError("no TLB line in /proc/interrupts")
        yield from families
