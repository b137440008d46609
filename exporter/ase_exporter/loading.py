"""What `serve` reads from files, read by a process that ends with it.

YAML and pydantic take 10 MiB of each process that has them, and are wanted at a start and at a reload alone:
`python -m ase_exporter.loading [FILE]` reads configuration and catalogue and writes them, pickled.
"""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ase_exporter import config
from ase_exporter.config import Config
from ase_exporter.errors import UserError


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
    try:
        # In a session of its own: Ctrl-C is for us.
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, start_new_session=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(f"the process that reads the configuration failed: {error}") from error
    answer: Loaded | UserError = pickle.loads(done.stdout)
    if isinstance(answer, UserError):
        raise answer
    return answer


def main() -> None:
    """Entry point of that process. Argument: the file, if there is one."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    answer: Loaded | UserError
    try:
        answer = Loaded.of(config.load(file) if file else config.from_environment())
    except UserError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    # Not __main__.Loaded, which the reader would not know.
    from ase_exporter.loading import main as run

    run()
