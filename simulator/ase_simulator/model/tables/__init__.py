"""The rows of the mon* and system tables: name -> function of the world."""

from collections.abc import Callable, Iterable

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

TABLES: dict[str, Callable[[World], Iterable[Row]]] = {
    name: checked(name, rows) for module in _MODULES for name, rows in module.TABLES.items()
}
