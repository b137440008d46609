"""A handwritten machine: /proc, /sys, and what perf counts there."""

from collections.abc import Iterator
from pathlib import Path

from ase_exporter.assets import load_yaml

FILES: dict[str, dict[str, str]] = load_yaml(Path(__file__).with_suffix(".yaml").read_text())
# Per second, in 10^6, invented to fill panels: in small pages, and in huge pages.
COUNTS = {
    "dTLB-loads": (160_000, 175_000),
    "dTLB-load-misses": (260, 105),
    "dTLB-store-misses": (90, 36),
    "iTLB-load-misses": (30, 26),
    "instructions": (410_000, 452_000),
    "cycles": (395_000, 391_000),
    "d-cycles-waited": (7_900, 3_000),
    "i-cycles-waited": (400, 300),
    "d-main-memory-reads": (0.52, 0.36),
    "i-main-memory-reads": (0.02, 0.02),
}


def before(root: Path) -> None:
    """1.75 TiB of ASE in small pages: no pool, THP on, large page tables."""
    _write(root, FILES["always"] | FILES["before"])


def after(root: Path) -> None:
    """The same in a pool of huge pages, THP off."""
    _write(root, FILES["after"])


def counted(intervals: int, huge_from: int, seconds: float) -> Iterator[str]:
    """What the stand-in for perf prints, an interval for each step; from one of them on in huge pages."""
    for number in range(intervals):
        yield "STEP"
        for event, counts in COUNTS.items():
            count = counts[number >= huge_from] * 1e6 * seconds
            yield f"{(number + 1) * seconds:.9f},{count:.0f},,{event},{seconds * 1e9:.0f},100.00,,"


def _write(root: Path, files: dict[str, str]) -> None:
    """Write each file atomically: the exporter reads meanwhile."""
    root.mkdir(parents=True, exist_ok=True)
    new = root / "new"
    for name, text in files.items():
        new.write_text(text)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new.replace(path)
