"""Which targets a command is about: the options that all such commands share, and what they mean."""

from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import config
from ase_exporter.config import Config
from ase_exporter.errors import UserError

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config.file",
        help="YAML configuration; without it ASE_HOST, ASE_PORT, ASE_USER, ASE_PASSWORD_FILE.",
    ),
]
TargetName = Annotated[
    str | None, typer.Option("--target", help="Which target; may be left out if there is only one.")
]


def load_config(file: Path | None) -> Config:
    """The configuration from a file or, without one, from the environment."""
    return config.load(file) if file else config.from_environment()


def choose_target(loaded: Config, name: str | None) -> config.Target:
    """The target of that name, or the only one. UserError if that leaves none or several."""
    if name is None:
        if len(loaded.targets) == 1:
            return loaded.targets[0]
        if not loaded.targets:
            raise UserError(
                "no target: give --config.file with targets, or set ASE_HOST, ASE_USER and ASE_PASSWORD_FILE"
            )
        raise UserError(f"--target: expected one of {', '.join(target.name for target in loaded.targets)}")
    for candidate in loaded.targets:
        if candidate.name == name:
            return candidate
    raise UserError(f"--target: {name}: no such target in the configuration")
