"""`ase-exporter demo`: options, then `demo.runner`."""

from pathlib import Path

from ase_exporter.demo.runner import run_demo


def demo(duration: float | None = None, port_base: int = 10150, directory: Path = Path(".demo")) -> None:
    run_demo(duration, port_base, directory)
