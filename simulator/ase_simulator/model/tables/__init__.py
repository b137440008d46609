"""The rows of the mon* and system tables: name -> function of the world."""

from collections.abc import Callable, Iterable, Mapping

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

TABLES: dict[str, Callable[[World], Iterable[Mapping[str, object]]]] = {
    **state.TABLES,
    **kernel.TABLES,
    **spinlock.TABLES,
    **cache.TABLES,
    **objects.TABLES,
    **memory.TABLES,
    **wait.TABLES,
    **lock.TABLES,
    **io.TABLES,
    **process.TABLES,
    **pipe.TABLES,
    **database.TABLES,
    **replication.TABLES,
    **errorlog.TABLES,
    **configuration.TABLES,
    **monitors.TABLES,
}
