"""The process that serves, with options that `serve` has parsed. Imports neither typer nor pydantic."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import msgspec

from ase_exporter import logs
from ase_exporter.errors import UserError

# The first word of the command line of this process; a user types `serve`.
WORD = "_serve"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeOptions:
    config_file: Path | None
    listen_address: str
    web_config_file: Path | None
    lifecycle: bool
    annotations: bool
    state_directory: Path | None
    log_format: logs.Format
    log_level: logs.Level

    def arguments(self) -> list[str]:
        """The command line of the process that serves."""
        return [WORD, json.dumps(asdict(self), default=str)]

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """The options of such a command line. Raises UserError."""
        try:
            return msgspec.convert(json.loads(arguments[1]), cls, dec_hook=lambda form, value: form(value))
        except (LookupError, TypeError, ValueError, RecursionError):
            raise UserError(f"{WORD}: expected the options that `ase-exporter serve` passes on") from None


def run(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM or Ctrl-C. arguments: from `ServeOptions`. Raises UserError if it cannot start."""
    from ase_exporter.web import server
    from ase_exporter.web.write_access import WriteAccess

    options = ServeOptions.from_arguments(arguments)
    logs.configure(options.log_format, options.log_level)
    server.run(
        options.config_file,
        options.listen_address,
        options.web_config_file,
        options.state_directory,
        WriteAccess(options.lifecycle, options.annotations),
    )
