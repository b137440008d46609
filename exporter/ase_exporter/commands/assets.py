"""`ase-exporter rules|mixin|dashboards|sql|config`: write files that ship with the exporter into a directory."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import assets
from ase_exporter.commands.durations import duration_option
from ase_exporter.errors import UserError

Directory = Annotated[
    Path,
    typer.Option(
        "--to", metavar="DIR", help="Directory; created if missing, files of the same name replaced."
    ),
]


Interval = Annotated[
    float, duration_option("--interval", show_default="15s", help="How often Prometheus scrapes: 5s to 5m.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A threshold of your own, such as data_cache=0.15 or spinlock.critical=0.6; alerts/parameters.yaml of "
        "the repository lists all of them. Repeatable.",
        show_default=False,
    ),
]


def rules(to: Directory, interval: Interval = 15.0, settings: Settings = None) -> None:
    """Write the recording and alerting rules for Prometheus, for your scrape interval and thresholds."""
    _write_texts("rules", to, _rules(interval, settings))


def mixin(to: Directory, interval: Interval = 15.0, settings: Settings = None) -> None:
    """Write rules and dashboards as a Jsonnet mixin: mixin.libsonnet and what it imports."""
    from ase_exporter.rules.mixin import mixin_files

    _write_texts("mixin", to, mixin_files(_rules(interval, settings)))


def _rules(interval: float, settings: list[str] | None) -> dict[str, str]:
    from ase_exporter.rules import definitions, intervals, parameters

    own = definitions.own_rule_files(parameters.changed(settings)) if settings else {}
    return intervals.rule_files(interval, own)


def dashboards(to: Directory) -> None:
    """Write the dashboards for Grafana, as JSON."""
    _write("dashboards", to)


def sql(to: Directory) -> None:
    """Write the SQL scripts: create the login, enable monitoring."""
    _write("sql", to)


def config(to: Directory) -> None:
    """Write the default configuration files: exporter.yaml for servers, host.yaml for the machine."""
    _write("config", to)


def _write_texts(name: str, to: Path, files: Mapping[str, str]) -> None:
    with _one_line_errors(name, to):
        for relative in sorted(files):
            path = to / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[relative], encoding="utf-8")
            print(path)


def _write(name: str, to: Path) -> None:
    with _one_line_errors(name, to):
        to.mkdir(parents=True, exist_ok=True)
        for source in sorted(assets.directory(name).iterdir()):
            print(shutil.copyfile(source, to / source.name))


@contextlib.contextmanager
def _one_line_errors(name: str, to: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{name}: --to {to}: {error.filename or to}: {error.strerror}") from error
