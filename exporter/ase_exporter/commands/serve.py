"""`ase-exporter serve`: parses the options, then becomes the process that serves."""

import logging
import os
import sys
from pathlib import Path

from ase_exporter import config, logs
from ase_exporter.commands.options import choose_target, config_path
from ase_exporter.commands.serving import ServeOptions, default_state_directory
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError

log = logging.getLogger(__name__)


def serve(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    listen_address: str = config.DEFAULT_LISTEN_ADDRESS,
    web_config_file: Path | None = None,
    hosts: list[str] | None = None,
    lifecycle: bool = False,
    annotations: bool = False,
    state_directory: Path | None = None,
    log_format: logs.Format = "text",
    log_level: logs.Level = "info",
) -> None:
    if target or user or password:
        if config_file:
            raise UserError("--config.file: has the servers: expected neither -S nor -U with it")
        _serve_one(*choose_target(config.from_environment(), target, user, password))
    elif config_file is None:
        config_file = config_path(None)
    directory, is_temporary = (state_directory, False) if state_directory else default_state_directory()
    if is_temporary:
        logs.configure(log_format, log_level)
        log.warning(
            "no state directory can be written: totals and changes end with this exporter; give --state-dir"
        )
    options = ServeOptions(
        config_file=config_file,
        listen_address=listen_address,
        web_config_file=web_config_file,
        hosts=tuple(hosts or ()),
        lifecycle=lifecycle,
        annotations=annotations,
        state_directory=directory,
        is_temporary=is_temporary,
        log_format=log_format,
        log_level=log_level,
    )
    # The exporter runs for months: typer would stay in its memory. The process stays the same, and so does its id.
    # With more arenas, glibc would keep what each thread had at its peak.
    os.environ["MALLOC_ARENA_MAX"] = "2"
    os.execv(sys.executable, options.arguments())


def _serve_one(loaded: Config, target: Target) -> None:
    """Leave a server and its login in the environment of the process that serves, but for the password.

    That is in memory that only this process has, and that its child reads like any password file.
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
