"""monSpinlockActivity."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.world import World


def mon_spinlock_activity(world: World) -> Iterator[Row]:
    """One row per slot; the slot numbers run through all spinlocks of the server."""
    counters = world.counters
    columns = (counters.grabs.tolist(), counters.spins.tolist(), counters.waits.tolist())
    for slot, (name, grabs, spins, waits) in enumerate(zip(counters.names, *columns, strict=True)):
        yield {
            "Grabs": int(grabs),
            "Spins": int(spins),
            "Waits": int(waits),
            "Contention": 100.0 * waits / grabs if grabs >= 1 else 0.0,
            "SpinlockSlotID": slot,
            "SpinlockName": name,
        }


TABLES = {"monSpinlockActivity": mon_spinlock_activity}
