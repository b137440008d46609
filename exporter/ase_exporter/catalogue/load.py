"""Reading the catalogue: our own files, and those of a user's directories."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ase_exporter.catalogue.model import Collector
from ase_exporter.errors import UserError

HERE = Path(__file__).parent
FIRST = {"state.yaml": 0, "threads.yaml": 1}


@dataclass(slots=True)
class Catalogue:
    """All collectors by name, in reading order. topics: collector name -> name of its file without suffix."""

    collectors: dict[str, Collector] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)


def load_catalogue(extra_dirs: Iterable[str | Path] = ()) -> tuple[Catalogue, list[str]]:
    """Our collectors, then those of *.yaml in each directory, in the order of names.

    A file with a mistake is left out as a whole and described in the second value, one line per file:
    `file:line: key: what was expected`. `state` comes first, as it knows of restarts, then threads
    at nearly the same time: throughput per CPU unit divides the one by the other.
    """
    # A worker, which gets a catalogue that is read, must not pay for reading.
    from pydantic import TypeAdapter

    from ase_exporter import yamlfile

    form = TypeAdapter(dict[str, Collector])
    catalogue = Catalogue()
    problems: list[str] = []
    for directory in (HERE, *map(Path, extra_dirs)):
        if not directory.is_dir():
            problems.append(f"{directory}: no such directory; expected one with catalogue files (*.yaml)")
            continue
        for path in sorted(directory.glob("*.yaml"), key=_reading_order):
            try:
                _add(catalogue, path, yamlfile.load(path, form))
            except UserError as error:
                problems.append(str(error))
    return catalogue, problems


def _reading_order(path: Path) -> tuple[int, str]:
    return FIRST.get(path.name, len(FIRST)), path.name


def _add(catalogue: Catalogue, path: Path, collectors: dict[str, Collector]) -> None:
    """Take over one file as a whole; UserError where its names beside those known are wrong."""
    owners = {metric: name for name, known in catalogue.collectors.items() for metric in known.metrics}
    for name, collector in collectors.items():
        if name in catalogue.collectors:
            raise UserError(
                f"{path}: {name}: a collector of this name exists in {catalogue.topics[name]}.yaml"
            )
        for metric in collector.metrics:
            if metric in owners:
                raise UserError(f"{path}: {name}.metrics.{metric}: collector {owners[metric]} has it already")
            owners[metric] = name
    catalogue.collectors.update(collectors)
    catalogue.topics.update(dict.fromkeys(collectors, path.stem))
