"""The history of configuration changes (sybsecurity..ch_events), kept while auditing is on."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.world import World


def ch_events(world: World) -> Iterator[Row]:
    """One row per change, oldest first."""
    for change in world.log.changes:
        yield {
            "type": "static" if change.static else "dynamic",
            "element": change.option,
            "oldvalue": change.before,
            "newvalue": change.after,
            "mode": "static" if change.static else "dynamic",
            "timestamp": world.date(change.second),
            "username": change.login,
        }


TABLES = {"ch_events": ch_events}
