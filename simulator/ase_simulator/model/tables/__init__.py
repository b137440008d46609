"""The rows of the mon* and system tables: name -> function of the world."""

from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import Any

from ase_simulator.contracts import Row
from ase_simulator.model.tables import (
    cache,
    configuration,
    database,
    errorlog,
    io,
    kernel,
    lock,
    memory,
    monitors,
    objects,
    pipe,
    process,
    replication,
    spinlock,
    state,
    wait,
)
from ase_simulator.model.world import World
from ase_simulator.schema.rows import checked
from ase_simulator.yaml_text import load_yaml

_MODULES = (
    state,
    kernel,
    spinlock,
    cache,
    objects,
    memory,
    wait,
    lock,
    io,
    process,
    pipe,
    database,
    replication,
    errorlog,
    configuration,
    monitors,
)

_COLUMNS: dict[str, dict[str, dict[str, Any]]] = load_yaml(
    files(__package__).joinpath("columns.yaml").read_text("utf-8")
)


def _completed(name: str, rows: Callable[[World], Iterable[Row]]) -> Callable[[World], Iterator[Row]]:
    """Rows with the columns that columns.yaml gives besides."""
    constants = _COLUMNS.get(name, {}).get("constant", {})
    counters = _COLUMNS.get(name, {}).get("counter", {})

    def complete(world: World) -> Iterator[Row]:
        more = {**constants, **{column: world.count(flow) for column, flow in counters.items()}}
        for row in rows(world):
            yield {**more, **row}

    return complete


TABLES: dict[str, Callable[[World], Iterable[Row]]] = {
    name: checked(name, _completed(name, rows)) for module in _MODULES for name, rows in module.TABLES.items()
}


def constant_columns() -> dict[str, list[str]]:
    """By table: the columns that always have the same value."""
    return {table: sorted(columns.get("constant", {})) for table, columns in _COLUMNS.items()}
