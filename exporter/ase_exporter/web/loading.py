"""What `serve` loads at its start and at each reload: the configuration and the catalogue."""

from dataclasses import dataclass
from pathlib import Path

from ase_exporter import config
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.config import Config


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
