"""`ase-exporter serve`: parses the options, then becomes the process that serves."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import config, logs
from ase_exporter.commands.options import (
    AskPassword,
    ConfigFile,
    LoginName,
    TargetName,
    choose_target,
    config_path,
)
from ase_exporter.commands.serving import ServeOptions
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError


def serve(
    config_file: ConfigFile = None,
    target: TargetName = None,
    user: LoginName = None,
    password: AskPassword = False,
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
    if target or user or password:
        if config_file:
            raise UserError("--config.file: has the servers: expected neither -S nor -U with it")
        _serve_one(*choose_target(config.from_environment(), target, user, password))
    elif config_file is None:
        config_file = config_path(None)
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


def _serve_one(loaded: Config, target: Target) -> None:
    """Leave a server and its login in the environment of the process that serves, but for the password.

    That is in memory that only this process has, and that its workers read like any password file.
    """
    auth = loaded.auth[target.auth]
    memory = os.memfd_create("password", 0)
    os.write(memory, auth.read_password().encode())
    os.environ |= {
        "ASE_HOST": target.host,
        "ASE_PORT": str(target.port),
        "ASE_NAME": target.name,
        "ASE_USER": auth.user,
        "ASE_PASSWORD_FILE": f"/proc/{os.getpid()}/fd/{memory}",
    }
