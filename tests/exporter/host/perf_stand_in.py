"""A stand-in for perf that replays scripts, and collectors that run it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.exporter.host.kernels import values, write_files
from tests.programs import START

from ase_exporter.config.host import Perf
from ase_exporter.host.perf import PerfCollector


class StandIn:
    """A stand-in for perf in its own directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.program = root / "perf"
        source = Path(__file__).with_name("stand_in_perf_program.py")
        self.program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {source} {root} "$@"\n')
        self.program.chmod(0o755)
        os.mkfifo(root / "go")
        self._go = os.open(root / "go", os.O_RDWR)
        self.collectors: list[PerfCollector] = []

    def play(self, *lines: str, run: int | None = None) -> None:
        """Set its output, in every run or in one (0 is the first)."""
        (self.root / ("script" if run is None else f"script.{run}")).write_text("\n".join(lines))

    def step(self) -> None:
        os.write(self._go, b".")

    def collector(self, **files: str) -> PerfCollector:
        procfs, sysfs = write_files(
            self.root, {name.replace("__", "/"): text for name, text in files.items()}
        )
        collector = PerfCollector(Perf(binary=str(self.program), interval=0.1), procfs, sysfs)
        self.collectors.append(collector)
        list(collector.collect())
        return collector

    def close(self) -> None:
        for collector in self.collectors:
            collector.close()
        os.close(self._go)


def wait(collector: PerfCollector, condition: Callable[[PerfCollector], bool]) -> dict[str, float]:
    """Wait until the condition holds; return the collector's values then."""
    with collector.changed:
        assert collector.changed.wait_for(lambda: condition(collector), START)
    return values(collector.collect())
