"""`ase-exporter rules|mixin|dashboards|sql|config`: write files that ship with the exporter into a directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import assets
from ase_exporter.commands.options import duration_option, output_option
from ase_exporter.errors import UserError

Directory = Annotated[
    Path,
    output_option("Directory; created if missing, files of the same name replaced.", metavar="DIR"),
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


def rules(output: Directory, interval: Interval = 15.0, settings: Settings = None) -> None:
    _write(output, rule_texts(interval, settings))


def mixin(output: Directory, interval: Interval = 15.0, settings: Settings = None) -> None:
    from ase_exporter.rules.mixin import mixin_files

    _write(output, mixin_files(rule_texts(interval, settings)))


def dashboards(output: Directory) -> None:
    _write(output, shipped_files("dashboards"))


def sql(output: Directory) -> None:
    _write(output, shipped_files("sql"))


def config(output: Directory) -> None:
    _write(output, shipped_files("config"))


def rule_texts(interval: float, settings: list[str] | None = None) -> dict[str, str]:
    """Rule files by name, for a scrape interval in seconds and thresholds as --set has them."""
    from ase_exporter.rules import definitions, intervals, parameters

    own = definitions.own_rule_files(parameters.changed(settings)) if settings else {}
    return intervals.rule_files(interval, own)


def shipped_files(name: str) -> dict[str, str]:
    """Files that come with the exporter, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in assets.directory(name).iterdir()}


def _write(directory: Path, files: Mapping[str, str]) -> None:
    try:
        for relative in sorted(files):
            path = directory / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[relative], encoding="utf-8")
            print(path)
    except OSError as error:
        raise UserError(f"--output {directory}: {error.filename or directory}: {error.strerror}") from error
