"""`ase-exporter demo`."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    duration: Annotated[
        float | None, typer.Option(help="Seconds after which it ends by itself, every run seen.")
    ] = None,
    port_base: Annotated[int, typer.Option(help="First of the seven ports that it takes.")] = 10150,
    directory: Annotated[Path, typer.Option(help="Where logs and data go, by port base.")] = Path(".demo"),
) -> None:
    """Replay the Memscale case study on loopback: simulated ASE, exporter, Prometheus, Alertmanager."""
    # Here, so that the other commands need not load what only the demo uses.
    from ase_exporter.demo.play import play

    play(duration, port_base, directory)
