"""`ase-exporter write rules|dashboards|sql|config`: write files that ship with the exporter into a directory."""

import os
from collections.abc import Mapping
from pathlib import Path

from ase_exporter import assets
from ase_exporter.errors import UserError
from ase_exporter.regular_files import create


def rules(directory: Path, interval: float = 15.0, settings: list[str] | None = None) -> None:
    _write(directory, rule_texts(interval, settings))


def dashboards(directory: Path) -> None:
    _write(directory, shipped_files("dashboards"))


def sql(directory: Path) -> None:
    _write(directory, shipped_files("sql"))


def config(directory: Path) -> None:
    _write(directory, shipped_files("config"))


def rule_texts(interval: float, settings: list[str] | None = None) -> dict[str, str]:
    """Rule files by name, for a scrape interval in seconds and thresholds as --set has them."""
    from ase_exporter.rules import definitions, intervals, parameters

    own = definitions.own_rule_files(parameters.changed(settings)) if settings else {}
    return intervals.rule_files(interval, own)


def shipped_files(name: str) -> dict[str, str]:
    """Files that come with the exporter, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in assets.directory(name).iterdir()}


def _write(directory: Path, files: Mapping[str, str]) -> None:
    # For other programs, which have other users.
    os.umask(0o022)
    try:
        for relative in sorted(files):
            path = directory / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            with create(path) as file:
                file.write(files[relative].encode())
                os.fchmod(file.fileno(), 0o644)
            print(path)
    except OSError as error:
        raise UserError(f"--output {directory}: {error.filename or directory}: {error.strerror}") from error
