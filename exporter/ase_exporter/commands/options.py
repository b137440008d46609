"""Options that several commands share, what they select, and where the result goes."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from ase_exporter import config
from ase_exporter.config import Config, Target
from ase_exporter.config.times import parse_duration
from ase_exporter.errors import MissingExtraError, UserError
from ase_exporter.untrusted.terminal import PlainConsole

# Targets that an error names.
_MAX_NAMES = 20

DEFAULT_URL = f"http://{config.DEFAULT_LISTEN_ADDRESS}"

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config.file",
        metavar="FILE",
        help="YAML configuration. Default: one target from ASE_HOST, ASE_PORT, ASE_USER and ASE_PASSWORD_FILE.",
    ),
]
TargetName = Annotated[
    str | None,
    typer.Option("--target", help="Name of a target in the configuration. Default: the only one."),
]
TargetNames = Annotated[
    list[str] | None,
    typer.Option("--target", help="Name of a target in the configuration; may be repeated. Default: all."),
]
# Where a running exporter answers, and how to authenticate there.
ExporterUrl = Annotated[
    str, typer.Option("--url", envvar="ASE_EXPORTER_URL", help="URL of the running exporter.")
]
ExporterUser = Annotated[
    str, typer.Option("--user", envvar="ASE_EXPORTER_USER", help="User name for the exporter's basic auth.")
]
ExporterPasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file", envvar="ASE_EXPORTER_PASSWORD_FILE", help="File with that user's password."
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", help="PEM file of the authority that signed the server's certificate."),
]
# Where a Prometheus answers, and which of its series to read.
PrometheusUrl = Annotated[
    str,
    typer.Option(
        "--prometheus",
        envvar="ASE_EXPORTER_PROMETHEUS",
        help="URL of Prometheus, Mimir or VictoriaMetrics. In the environment if it holds a password.",
    ),
]
ExporterHistory = Annotated[
    str | None,
    typer.Option(
        "--exporter",
        envvar="ASE_EXPORTER_URL",
        help="URL of ase-exporter: read changes and targets from it, not from its metrics in Prometheus.",
    ),
]
Selector = Annotated[str, typer.Option(help="More label matchers, for example 'job=\"ase\"'.")]
SecondsPerSpin = Annotated[
    float | None,
    typer.Option(
        min=1e-12,
        max=1e-3,
        help="CPU seconds of one spin, if calibrated (spinlock.seconds_per_spin of the alert parameters).",
    ),
]


def output_option(help_text: str, **settings: Any) -> Any:
    """The `typer.Option` of the file or directory that a command writes. settings: of `typer.Option`."""
    return typer.Option("--output", "-o", help=help_text, **settings)


def format_option(help_text: str = "Output format.") -> Any:
    """The `typer.Option` of a command's output format, whose type is a Literal."""
    return typer.Option("--format", help=help_text)


def duration_option(name: str, **settings: Any) -> Any:
    """A `typer.Option` whose value is seconds, from text such as 90, 90s, 30m or 1h30m.

    settings: of `typer.Option`. A bad value is a UserError that names the option.
    """

    def parse(value: str | float) -> float:
        # Defaults are parsed, too, and are seconds already.
        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(value)
        except ValueError as error:
            raise UserError(f"{name}: {value!r}: {error}") from None

    return typer.Option(name, parser=parse, metavar="DURATION", **settings)


def load_config(file: Path | None) -> Config:
    """The configuration from a file or, without one, from the environment. Raises UserError."""
    return config.load(file) if file else config.from_environment()


def choose_target(loaded: Config, name: str | None) -> Target:
    """The target of that name or, without a name, the only one. Raises UserError if that leaves none."""
    if name is None:
        if len(loaded.targets) == 1:
            return loaded.targets[0]
        if not loaded.targets:
            raise UserError(
                "no target: give --config.file with targets, or set ASE_HOST, ASE_USER and ASE_PASSWORD_FILE"
            )
        raise UserError(f"--target: expected one of {', '.join(target.name for target in loaded.targets)}")
    for candidate in loaded.targets:
        if candidate.name == name:
            return candidate
    names = ", ".join(target.name for target in loaded.targets[:_MAX_NAMES])
    more = ", …" if len(loaded.targets) > _MAX_NAMES else ""
    raise UserError(f"--target: {name}: no such target in the configuration; it has {names}{more}")


def choose_targets(loaded: Config, names: Iterable[str]) -> list[Target]:
    """The targets of those names or, without names, all of them. Raises UserError if that leaves none."""
    chosen = [choose_target(loaded, name) for name in dict.fromkeys(names)]
    return chosen or list(loaded.targets) or [choose_target(loaded, None)]


def require(module: str, extra: str, what: str, instead: str = "") -> None:
    """Raises MissingExtraError, with `what` and `instead`, if the module of an extra is not installed."""
    try:
        import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(what, extra, instead) from None


def write_output(path: Path, data: str | bytes) -> None:
    """Write the file that --output names. Raises UserError if that is not possible."""
    try:
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise UserError(f"--output {path}: {error.strerror}") from error


def require_matplotlib(what: str) -> None:
    """Raises MissingExtraError if matplotlib is not installed. what: the command or option that needs it."""
    require("matplotlib", "report", f"{what} needs matplotlib")


def progress_bar() -> Progress:
    """A progress bar on stderr, if that is a terminal; it is removed at the end."""
    console = PlainConsole(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
