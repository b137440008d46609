"""monErrorLog: what the server wrote to its error log since it started."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.world import World


def mon_error_log(world: World) -> Iterator[Row]:
    """Start-up messages, then those of actions and faults, oldest first."""
    kept = world.options.run("errorlog pipe max messages") or 500
    for entry in list(world.log.entries)[-kept:]:
        yield {
            "ErrorNumber": entry.number,
            "Severity": entry.severity,
            "Time": world.date(entry.second),
            "ErrorMessage": entry.text,
        }


TABLES = {"monErrorLog": mon_error_log}
