"""The supervisor and the process that serves, with options that `serve` has parsed. Neither imports typer.

The supervisor stays in memory and does nothing: what it does not need is imported in functions.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from ase_exporter import logs
from ase_exporter.errors import UserError

# The first word of the command line of these processes; a user types `serve`.
WORD = "_serve"
_PATHS = frozenset(("config_file", "web_config_file", "state_directory"))


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeOptions:
    config_file: Path | None
    listen_address: str
    web_config_file: Path | None
    hosts: tuple[str, ...] = ()
    lifecycle: bool
    annotations: bool
    state_directory: Path
    is_temporary: bool
    log_format: logs.Format
    log_level: logs.Level

    def arguments(self) -> list[str]:
        """The command line of these processes."""
        # -P: no module of the working directory is imported.
        return [sys.executable, "-P", "-m", "ase_exporter", WORD, json.dumps(asdict(self), default=str)]

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """The options of such a command line. Raises UserError."""
        try:
            given: dict[str, Any] = json.loads(arguments[1])
            paths = {name: Path(given[name]) for name in _PATHS if given[name]}
            return cls(**(given | paths | {"hosts": tuple(given["hosts"])}))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            raise UserError(f"{WORD}: expected the options that `ase-exporter serve` passes on") from None


def run(arguments: Sequence[str]) -> None:
    """Supervise until SIGTERM or Ctrl-C. arguments: from `ServeOptions`. Raises UserError if it cannot start."""
    from ase_exporter.web.supervisor import Legacy, Supervisor, listen

    options = ServeOptions.from_arguments(arguments)
    logs.configure(options.log_format, options.log_level)
    try:
        listener = listen(options.listen_address)
    except UserError:
        from ase_exporter.web.loading import load
        from ase_exporter.web.web_config import WebConfig

        # What is wrong with the files comes first: the address may be in use by the exporter that they are for.
        load(options.config_file)
        WebConfig(options.web_config_file)
        raise

    def serve(legacy: Legacy) -> NoReturn:
        from ase_exporter.web import server
        from ase_exporter.web.write_access import WriteAccess

        server.run(
            legacy,
            listener,
            options.config_file,
            options.web_config_file,
            options.state_directory,
            WriteAccess(options.lifecycle, options.annotations),
            hosts=(*options.hosts, options.listen_address.rpartition(":")[0]),
            is_temporary=options.is_temporary,
        )

    status = Supervisor(serve).run()
    if options.is_temporary:
        import shutil

        shutil.rmtree(options.state_directory, ignore_errors=True)
    sys.exit(status)


def default_state_directory(environment: Mapping[str, str] = os.environ) -> tuple[Path, bool]:
    """The state directory without --state-dir, and whether it is a temporary one, because no other can be written.

    By the XDG Base Directory Specification, unless systemd or a package has made one that we may write.
    """
    from ase_exporter.ase.login_file import shared_directories

    directory = shared_directories(environment)[0]
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        if os.access(directory, os.W_OK):
            return directory, False
    except OSError:
        pass
    import tempfile

    return Path(tempfile.mkdtemp(prefix="ase-exporter-")), True
