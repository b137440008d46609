"""Loads the catalogue: the built-in files, and those in the user's directories."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ase_exporter.catalogue.model import Collector
from ase_exporter.errors import UserError
from ase_exporter.metrics.declared import OWN

if TYPE_CHECKING:
    from pydantic import TypeAdapter

HERE = Path(__file__).parent
FIRST = {"state.yaml": 0, "threads.yaml": 1}

# Metrics that no custom collector may define, besides the exporter's own.
RESERVED_PREFIXES = ("ase_exporter_", "ase_sysmon_")

# Text, quoted names and comments hold no keywords.
_OPAQUE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\[[^\]]*\]|/\*.*?\*/|--[^\n]*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_@#$][\w@#$]*|[();]")
# Reserved words of T-SQL that begin another statement, or make a select write.
_FORBIDDEN = re.compile(
    r"alter|begin|break|bulk|checkpoint|close|commit|compute|connect|continue|create|dbcc|"
    r"deallocate|declare|delete|disk|drop|dump|exec|execute|fetch|go|goto|grant|if|"
    r"insert|into|kill|load|lock|merge|mount|online|open|prepare|print|quiesce|raiserror|readtext|"
    r"reconfigure|remove|reorg|return|revoke|rollback|save|set|setuser|shutdown|transfer|"
    r"truncate|unmount|update|use|waitfor|while|writetext"
)


@dataclass(slots=True)
class Catalogue:
    """All collectors by name, in reading order.

    topics: collector -> name of its file without suffix. custom: those of the user's files.
    """

    collectors: dict[str, Collector] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    custom: set[str] = field(default_factory=set)

    def chosen(self, selection: Mapping[str, bool] | None, cluster: bool) -> dict[str, Collector]:
        """The collectors that are enabled and exist in this edition. selection: overrides their defaults."""
        return {
            name: collector
            for name, collector in self.collectors.items()
            if (selection or {}).get(name, collector.default) and collector.is_of(cluster)
        }


def load_catalogue(extra_dirs: Iterable[str | Path] = ()) -> tuple[Catalogue, list[str]]:
    """The built-in collectors, then those in the *.yaml files of each directory, by file name.

    A file with an error is left out as a whole and described in the second value, one line per file:
    `file:line: key: what was expected`. `state` comes first, as it detects restarts; `threads` follows at nearly
    the same time, as throughput per CPU unit divides the one by the other.
    """
    shipped = _shipped()
    catalogue = Catalogue(dict(shipped.collectors), dict(shipped.topics))
    problems: list[str] = []
    for directory in map(Path, extra_dirs):
        if not directory.is_dir():
            problems.append(f"{directory}: no such directory; expected one with catalogue files (*.yaml)")
            continue
        for path in sorted(directory.glob("*.yaml")):
            try:
                _add(catalogue, path, _read(path))
            except UserError as error:
                problems.append(str(error))
    return catalogue, problems


@cache
def _shipped() -> Catalogue:
    """The built-in collectors: reading their files takes 50 ms."""
    catalogue = Catalogue()
    for path in sorted(HERE.glob("*.yaml"), key=lambda path: (FIRST.get(path.name, len(FIRST)), path.name)):
        _add(catalogue, path, _read(path))
    return catalogue


def _read(path: Path) -> dict[str, Collector]:
    """The collectors of a file. Raises UserError."""
    # Whoever only knows the model does not pay for these imports.
    from ase_exporter.config import yaml_files

    read = yaml_files.load_shipped if path.parent == HERE else yaml_files.load
    return read(path, _adapter())


@cache
def _adapter() -> "TypeAdapter[dict[str, Collector]]":
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, Collector])


def _add(catalogue: Catalogue, path: Path, collectors: dict[str, Collector]) -> None:
    """Add a file. Raises UserError for what is defined already, and for a statement that is not one select."""
    custom = path.parent != HERE
    owners = {metric: name for name, known in catalogue.collectors.items() for metric in known.metrics}
    for name, collector in collectors.items():
        if name in catalogue.collectors:
            raise UserError(
                f"{path}: {name}: a collector of this name exists in {catalogue.topics[name]}.yaml"
            )
        if custom and collector.sql and (problem := select_problem(collector.sql)):
            raise UserError(f"{path}: {name}: {problem}")
        for metric in collector.metrics:
            if path.parent != HERE and (metric in OWN.by_name or metric.startswith(RESERVED_PREFIXES)):
                raise UserError(
                    f"{path}: {name}.metrics.{metric}: the exporter has metrics of this name itself"
                )
            if metric in owners:
                raise UserError(
                    f"{path}: {name}.metrics.{metric}: collector {owners[metric]} defines it already"
                )
            owners[metric] = name
    catalogue.collectors.update(collectors)
    catalogue.topics.update(dict.fromkeys(collectors, path.stem))
    if custom:
        catalogue.custom.update(collectors)


def select_problem(text: str) -> str | None:
    """What is wrong with a text that should be one select; None if it is one. The words decide, as T-SQL has no end of
    a statement."""
    depth, previous = 0, ""
    for word in _WORD.findall(_OPAQUE.sub(" ", text)):
        lower = word.lower()
        depth += {"(": 1, ")": -1}.get(word, 0)
        # A second select belongs to a union, or is in parentheses.
        second = lower == "select" and depth == 0 and previous not in ("", "union", "all")
        if (not previous and lower != "select") or _FORBIDDEN.fullmatch(lower) or word == ";" or second:
            found = f"a second `{lower}`" if second else f"`{lower}`"
            return f"`sql`: expected one select and nothing else, found {found}"
        previous = lower
    return None if previous else "`sql`: expected one select and nothing else, found nothing"
