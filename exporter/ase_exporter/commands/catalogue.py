"""`ase-exporter catalogue`: the metrics reference, and validation of custom metrics."""

from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.reference import reference as as_markdown
from ase_exporter.errors import UserError

app = typer.Typer(no_args_is_help=True)


@app.command()
def reference() -> None:
    """Print the reference of all metrics as Markdown."""
    catalogue, _ = load_catalogue()
    print(as_markdown(catalogue), end="")


@app.command()
def validate(
    directories: Annotated[list[Path], typer.Argument(help="Directories with custom metrics (*.yaml).")],
) -> None:
    """Validate custom metrics. Exit code 2, and one line for each bad file, if any is bad."""
    catalogue, problems = load_catalogue(directories)
    if problems:
        raise UserError(*problems)
    built_in, _ = load_catalogue()
    number = len(catalogue.collectors) - len(built_in.collectors)
    print("1 collector is good" if number == 1 else f"{number} collectors are good")
