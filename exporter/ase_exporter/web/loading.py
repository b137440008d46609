"""What `serve` loads at its start and at each reload: the configuration and the catalogue."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ase_exporter import config
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.config import Config
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_bytes


@dataclass(frozen=True, slots=True)
class Loaded:
    """problems: one line for each catalogue file that is left out."""

    config: Config
    catalogue: Catalogue
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, configuration: Config) -> "Loaded":
        """The configuration with the catalogue that it names."""
        catalogue, problems = load_catalogue(configuration.catalogue.directories)
        return cls(configuration, catalogue, tuple(problems))


def load(file: Path | None) -> Loaded:
    """Load a file, or else the environment. Raises UserError."""
    return Loaded.of(config.load(file) if file else config.from_environment())


def load_and_keep(file: Path | None, descriptor: int) -> Loaded:
    """Load a file, or else the environment, and keep its text for `load_again`. Raises UserError."""
    loaded = load(file)
    if file:
        keep(file, descriptor)
    return loaded


def load_again(descriptor: int) -> Loaded | None:
    """Load what was kept last; None if nothing was, or if it cannot be loaded any more."""
    with contextlib.suppress(UserError):
        if file := kept(descriptor):
            return load(file)
    return None


def keep(file: Path, descriptor: int) -> None:
    """Keep a file that was loaded in memory that outlives the process: after a crash, the file may be a bad one."""
    with contextlib.suppress(OSError):
        content = read_bytes(file)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)


def kept(descriptor: int) -> Path | None:
    """Where what was kept can be read; None if nothing was."""
    return Path(f"/proc/self/fd/{descriptor}") if os.fstat(descriptor).st_size else None
