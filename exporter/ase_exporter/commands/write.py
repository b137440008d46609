"""`ase-exporter write rules|dashboards|sql|config`: write files that ship with the exporter into a directory."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ase_exporter import assets
from ase_exporter.errors import UserError
from ase_exporter.regular_files import create, writing

# A threshold of a panel that is a parameter of the alerts.
_STEP = re.compile(r'("value": )([^,\n]+)(,\s+"color": "[^"]+",\s+"parameter": "(?P<name>[^"]+)")')


def rules(
    directory: Path, interval: float = 15.0, thresholds: Path | None = None, settings: list[str] | None = None
) -> None:
    _write(directory, rule_texts(interval, settings, thresholds))


def dashboards(directory: Path, thresholds: Path | None = None) -> None:
    from ase_exporter.rules import limits

    values = limits.own(thresholds).values

    def step(match: re.Match[str]) -> str:
        return f"{match[1]}{values.get(match['name'], match[2])}{match[3]}"

    texts = shipped_files("dashboards")
    _write(directory, {name: _STEP.sub(step, text) for name, text in texts.items()})


def sql(directory: Path) -> None:
    _write(directory, shipped_files("sql"))


def config(directory: Path) -> None:
    _write(directory, shipped_files("config"))


def rule_texts(
    interval: float, settings: list[str] | None = None, thresholds: Path | None = None
) -> dict[str, str]:
    """Rule files by name, for a scrape interval in seconds, and for thresholds as --thresholds and --set have them."""
    from ase_exporter.rules import definitions, intervals, limits

    own = limits.own(thresholds, settings or [])
    return intervals.rule_files(interval, definitions.own_rule_files(own) if own else {})


def shipped_files(name: str) -> dict[str, str]:
    """Files that come with the exporter, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in assets.directory(name).iterdir()}


def _write(directory: Path, files: Mapping[str, str]) -> None:
    # For other programs, which have other users.
    os.umask(0o022)
    try:
        for relative in sorted(files):
            path = directory / relative
            with writing():
                path.parent.mkdir(parents=True, exist_ok=True)
            with create(path) as file:
                file.write(files[relative].encode())
                os.fchmod(file.fileno(), 0o644)
    except OSError as error:
        raise UserError(f"--output {directory}: {error.filename or directory}: {error.strerror}") from error
    # Not before: a reader of the names who leaves must not leave half of the files.
    print(*(directory / relative for relative in sorted(files)), sep="\n")
