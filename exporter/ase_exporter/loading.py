"""What `serve` reads from files, read by a process that ends with it.

YAML and pydantic take 12 MiB, more than all else in the front together, and are wanted for a moment at a start or
a reload: `python -m ase_exporter.loading [FILE]` reads configuration and catalogue and writes them, pickled.
"""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ase_exporter import config
from ase_exporter.config import Config
from ase_exporter.errors import UserError

# As commands do whose input is bad.
BAD_INPUT = 2


@dataclass(frozen=True, slots=True)
class Loaded:
    """catalogue: pickled, as the front only hands it to the workers. problems: files of it that are left out."""

    config: Config
    catalogue: bytes
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, configuration: Config) -> "Loaded":
        """With the catalogue that the configuration asks for."""
        from ase_exporter.catalogue import load_catalogue

        catalogue, problems = load_catalogue(configuration.catalogue.directories)
        return cls(configuration, pickle.dumps(catalogue), tuple(problems))


def load(file: Path | None) -> Loaded:
    """Read in a process of its own, from a file or, without one, from the environment. UserError as there."""
    command = [sys.executable, "-m", "ase_exporter.loading", *([str(file)] if file else [])]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == BAD_INPUT:
        raise UserError(done.stderr.decode().strip())
    if done.returncode:
        raise RuntimeError(f"the configuration could not be read: {done.stderr.decode()}")
    loaded: Loaded = pickle.loads(done.stdout)
    return loaded


def main() -> None:
    """Entry point of that process. Argument: the file, if there is one."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    try:
        loaded = Loaded.of(config.load(file) if file else config.from_environment())
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(BAD_INPUT)
    sys.stdout.buffer.write(pickle.dumps(loaded))


if __name__ == "__main__":
    # Not __main__.Loaded, which the reader would not know.
    from ase_exporter.loading import main as run

    run()
