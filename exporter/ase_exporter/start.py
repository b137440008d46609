"""`ase-exporter serve` after its options are read: the same process, in a fresh interpreter.

A server runs for months, and what reads command lines (typer, and pydantic under it) would stay in its memory: 10 MiB.
"""

import json
import os
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from ase_exporter import logs
from ase_exporter.errors import UserError


@dataclass(frozen=True, slots=True)
class Options:
    """Those of the command. Paths are text, '' where there is none."""

    config_file: str
    listen_address: str
    web_config_file: str
    state_directory: str
    log_format: logs.Format
    log_level: logs.Level


def start(options: Options) -> NoReturn:
    """Become the server."""
    command = [sys.executable, "-m", "ase_exporter.start", json.dumps(asdict(options))]
    os.execv(command[0], command)


def main() -> None:
    """Entry point of the server. Argument: the options. Bad input: one line on stderr, exit code 2."""
    from ase_exporter import loading, serve
    from ase_exporter.webconfig import WebConfig

    options = Options(**json.loads(sys.argv[1]))
    logs.configure(options.log_format, options.log_level)
    load = partial(loading.load, _path(options.config_file))
    try:
        loaded = load()
        web = WebConfig(_path(options.web_config_file))
        listener = serve.listen(options.listen_address)
        serve.serve(load, loaded, listener, web, _path(options.state_directory))
    except UserError as error:
        print(f"ase-exporter: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _path(text: str) -> Path | None:
    return Path(text) if text else None


if __name__ == "__main__":
    main()
