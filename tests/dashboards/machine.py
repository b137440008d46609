"""A handwritten machine: /proc, /sys, and a stand-in for perf whose counts depend on them."""

import sys
from pathlib import Path

from ase_exporter.assets import load_yaml

FILES: dict[str, dict[str, str]] = load_yaml(Path(__file__).with_suffix(".yaml").read_text())
_POOL = "sys/kernel/mm/hugepages/hugepages-2048kB"


def before(root: Path) -> None:
    """1.75 TiB of ASE in small pages: no pool, THP on, large page tables."""
    _write(root, FILES["always"] | FILES["before"])


def after(root: Path) -> None:
    """The same in a pool of huge pages, THP off."""
    _write(root, FILES["after"])


def perf(root: Path) -> None:
    """Write a stand-in for perf. Its counts are invented, to fill panels."""
    program = root / "perf"
    source = Path(__file__).with_name("stand_in_perf.py")
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -S -E {source} {root / _POOL / "nr_hugepages"} "$@"\n'
    )
    program.chmod(0o755)


def _write(root: Path, files: dict[str, str]) -> None:
    """Write each file atomically: the exporter reads meanwhile."""
    root.mkdir(parents=True, exist_ok=True)
    new = root / "new"
    for name, text in files.items():
        new.write_text(text)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new.replace(path)
