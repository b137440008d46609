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


class KeptConfiguration:
    """The text that was loaded last, as after a crash the file may be a bad one.

    descriptor: of memory that outlives the process.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def load(self, file: Path | None) -> Loaded:
        """Load a file, or else the environment, and keep its text. Raises UserError."""
        loaded = load(file)
        if file:
            with contextlib.suppress(OSError):
                text = read_bytes(file)
                os.truncate(self._descriptor, 0)
                os.pwrite(self._descriptor, text, 0)
        return loaded

    def load_again(self) -> Loaded | None:
        """Load what was loaded last; None if nothing was, or if it cannot be loaded any more."""
        if not os.fstat(self._descriptor).st_size:
            return None
        try:
            return load(Path(f"/proc/self/fd/{self._descriptor}"))
        except UserError:
            return None
