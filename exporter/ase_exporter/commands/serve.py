"""`ase-exporter serve`: its options, parsed by argparse, since the server must not load typer."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, get_args

from ase_exporter import config, logs
from ase_exporter.errors import UserError

HELP = "Serve metrics over HTTP until SIGTERM or Ctrl-C."


@dataclass(frozen=True, slots=True)
class Option:
    """An option with one value; without a metavar, a switch that is off by default."""

    flag: str
    metavar: str | None
    help: str
    default: str | None = None
    choices: tuple[str, ...] | None = None


# By the names of the values that they set. `app` lists them in its help, `options` shares --config.file.
OPTIONS = {
    "config_file": Option(
        "--config.file",
        "FILE",
        "YAML configuration. Default: one target from ASE_HOST, ASE_PORT, ASE_USER and ASE_PASSWORD_FILE.",
    ),
    "listen_address": Option(
        "--web.listen-address", "HOST:PORT", "Address to listen on.", config.DEFAULT_LISTEN_ADDRESS
    ),
    "web_config_file": Option(
        "--web.config.file", "FILE", "YAML file with TLS, users and headers, in exporter-toolkit's format."
    ),
    "enable_lifecycle": Option(
        "--web.enable-lifecycle",
        None,
        "Let HTTP callers reload the configuration (POST /-/reload).",
    ),
    "enable_annotations": Option(
        "--web.enable-annotations",
        None,
        "Let HTTP callers annotate (POST /annotations), and so announce maintenance, which mutes alerts.",
    ),
    "state_directory": Option(
        "--state-dir",
        "DIRECTORY",
        "Directory for the history of changes and the totals of counters. Default: kept in memory only.",
    ),
    "log_format": Option("--log.format", "FORMAT", "text or json.", "text", get_args(logs.Format)),
    "log_level": Option(
        "--log.level", "LEVEL", "debug, info, warning or error.", "info", get_args(logs.Level)
    ),
}


def serve(arguments: Sequence[str]) -> None:
    """Run the server with these command-line arguments. Raises UserError if they are wrong."""
    options = _parser().parse_args(arguments)
    # The list of commands needs the options alone: the server is imported only where it runs.
    from ase_exporter.web import server
    from ase_exporter.web.write_access import WriteAccess

    logs.configure(options.log_format, options.log_level)
    server.run(
        _path(options.config_file),
        options.listen_address,
        _path(options.web_config_file),
        _path(options.state_directory),
        WriteAccess(options.enable_lifecycle, options.enable_annotations),
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"serve: {message}")

    def _print_message(self, message: str, file: object = None) -> None:
        # argparse would ignore an error.
        sys.stdout.write(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="ase-exporter serve", description=HELP, allow_abbrev=False)
    for name, option in OPTIONS.items():
        if option.metavar is None:
            parser.add_argument(option.flag, dest=name, action="store_true", help=option.help)
            continue
        parser.add_argument(
            option.flag,
            dest=name,
            metavar=option.metavar,
            help=option.help + (f" Default: {option.default}." if option.default else ""),
            default=option.default,
            choices=option.choices,
        )
    return parser


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
