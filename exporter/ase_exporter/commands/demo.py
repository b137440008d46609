"""`ase-exporter demo`: options, then `demo.runner`."""

from pathlib import Path

from ase_exporter.commands.options import require


def demo(duration: float | None = None, port_base: int = 10150, directory: Path = Path(".demo")) -> None:
    require("ase_simulator", "demo", "demo needs ase-simulator", "in a checkout: make demo")
    from ase_exporter.demo.runner import run_demo

    run_demo(duration, port_base, directory)
