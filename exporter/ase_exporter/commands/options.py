"""Options that several commands share, and what they select: the configuration and one of its targets."""

from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import config
from ase_exporter.commands.serve import OPTIONS
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError

# Targets that an error names.
_MAX_NAMES = 20

DEFAULT_URL = f"http://{config.DEFAULT_LISTEN_ADDRESS}"

ConfigFile = Annotated[
    Path | None, typer.Option(OPTIONS["config_file"].flag, help=OPTIONS["config_file"].help)
]
TargetName = Annotated[
    str | None,
    typer.Option("--target", help="Name of a target in the configuration. Default: the only one."),
]
# Where a running exporter answers, and how to authenticate there.
ExporterUrl = Annotated[
    str, typer.Option("--url", envvar="ASE_EXPORTER_URL", help="URL of the running exporter.")
]
ExporterUser = Annotated[
    str, typer.Option("--user", envvar="ASE_EXPORTER_USER", help="User name for the exporter's basic auth.")
]
ExporterPasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file", envvar="ASE_EXPORTER_PASSWORD_FILE", help="File with that user's password."
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", help="PEM file of the authority that signed the server's certificate."),
]


def load_config(file: Path | None) -> Config:
    """The configuration from a file or, without one, from the environment. Raises UserError."""
    return config.load(file) if file else config.from_environment()


def choose_target(loaded: Config, name: str | None) -> Target:
    """The target of that name or, without a name, the only one. Raises UserError if that leaves none."""
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
    names = ", ".join(target.name for target in loaded.targets[:_MAX_NAMES])
    more = ", …" if len(loaded.targets) > _MAX_NAMES else ""
    raise UserError(f"--target: {name}: no such target in the configuration; it has {names}{more}")
