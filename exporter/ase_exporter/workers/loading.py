"""Loads configuration and catalogue for `serve` in a process of its own, which then exits.

YAML and pydantic take 10 MiB of every process that imports them, but are needed only at start and reload. So
`python -m ase_exporter.workers.loading [FILE]` loads both and writes them, pickled, to its standard output.
"""

import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ase_exporter import config
from ase_exporter.config import Config
from ase_exporter.errors import UserError


@dataclass(frozen=True, slots=True)
class Loaded:
    """catalogue: pickled, as it is only passed on to the workers. problems: one line per catalogue file left out."""

    config: Config
    catalogue: bytes
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, configuration: Config) -> "Loaded":
        """The configuration with the catalogue that it names."""
        from ase_exporter.catalogue import load_catalogue

        catalogue, problems = load_catalogue(configuration.catalogue.directories)
        return cls(configuration, pickle.dumps(catalogue), tuple(problems))


def load(file: Path | None) -> Loaded:
    """Load in a process of its own, from a file or else from the environment. Raises UserError."""
    # -P: no module of the working directory is imported.
    command = [sys.executable, "-P", "-m", "ase_exporter.workers.loading", *([str(file)] if file else [])]
    try:
        # In a session of its own, so that Ctrl-C reaches this process only.
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
    """Entry point of the loading process. Argument: the file, if there is one."""
    # If the exporter is stopped meanwhile, nobody reads the answer.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    answer: Loaded | UserError
    try:
        answer = Loaded.of(config.load(file) if file else config.from_environment())
    except UserError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    # Pickled from here, the class would be __main__.Loaded, which the reader does not know.
    from ase_exporter.workers.loading import main as main_of_module

    main_of_module()
