"""`ase-exporter rules|dashboards|sql|config`: write files that ship with the exporter into a directory."""

import contextlib
import shutil
from collections.abc import Iterator
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


def rules(
    to: Directory,
    interval: Annotated[
        float,
        duration_option("--interval", show_default="15s", help="How often Prometheus scrapes: 5s to 5m."),
    ] = 15.0,
) -> None:
    """Write the recording and alerting rules for Prometheus, with windows that fit the scrape interval."""
    from ase_exporter.rules.intervals import rule_files

    files = rule_files(interval)
    with _one_line_errors("rules", to):
        to.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (to / name).write_text(text, encoding="utf-8")
            print(to / name)


def dashboards(to: Directory) -> None:
    """Write the dashboards for Grafana, as JSON."""
    _write("dashboards", to)


def sql(to: Directory) -> None:
    """Write the SQL scripts: create the login, enable monitoring."""
    _write("sql", to)


def config(to: Directory) -> None:
    """Write the default configuration files: exporter.yaml for servers, host.yaml for the machine."""
    _write("config", to)


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
