"""`ase-exporter serve`: parses the options, then becomes the process that serves."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import config, logs
from ase_exporter.commands.options import ConfigFile
from ase_exporter.commands.serving import ServeOptions


def serve(
    config_file: ConfigFile = None,
    listen_address: Annotated[
        str, typer.Option("--web.listen-address", metavar="HOST:PORT", help="Address to listen on.")
    ] = config.DEFAULT_LISTEN_ADDRESS,
    web_config_file: Annotated[
        Path | None,
        typer.Option(
            "--web.config.file",
            metavar="FILE",
            help="YAML file with TLS, users and headers, in exporter-toolkit's format.",
        ),
    ] = None,
    lifecycle: Annotated[
        bool,
        typer.Option(
            "--web.enable-lifecycle", help="Enable POST /-/reload. Callers can then reload the configuration."
        ),
    ] = False,
    annotations: Annotated[
        bool,
        typer.Option(
            "--web.enable-annotations",
            help="Enable POST /annotations. Callers can then declare maintenance, which mutes alerts.",
        ),
    ] = False,
    state_directory: Annotated[
        Path | None,
        typer.Option(
            "--state-dir",
            metavar="DIRECTORY",
            help="Directory for the history of changes and the totals of counters. Default: kept in memory only.",
        ),
    ] = None,
    log_format: Annotated[logs.Format, typer.Option("--log.format", help="Format of log lines.")] = "text",
    log_level: Annotated[logs.Level, typer.Option("--log.level", help="Least severe level to log.")] = "info",
) -> None:
    """SIGHUP reloads the configuration."""
    options = ServeOptions(
        config_file=config_file,
        listen_address=listen_address,
        web_config_file=web_config_file,
        lifecycle=lifecycle,
        annotations=annotations,
        state_directory=state_directory,
        log_format=log_format,
        log_level=log_level,
    )
    # The server runs for months: typer would stay in its memory. The process stays the same, and so does its id.
    # -P: no module of the working directory is imported.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "ase_exporter", *options.arguments()])
