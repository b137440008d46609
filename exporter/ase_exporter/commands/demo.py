"""`ase-exporter demo`: options, then `demo.runner`."""

from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.demo.runner import run_demo


def demo(
    duration: Annotated[
        float | None, typer.Option(help="Seconds to run, all runs included (default: until Ctrl-C).")
    ] = None,
    port_base: Annotated[int, typer.Option(help="First of seven consecutive ports to use.")] = 10150,
    directory: Annotated[Path, typer.Option(help="Directory of logs and data.")] = Path(".demo"),
) -> None:
    run_demo(duration, port_base, directory)
