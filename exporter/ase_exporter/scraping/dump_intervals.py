"""The configured intervals of dumps as a metric, which alerts on old dumps join."""

from collections.abc import Iterable, Sequence

from ase_exporter.config.dumps import Dumps
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family


def dump_intervals(entries: Sequence[Dumps], databases: Iterable[str]) -> Family:
    """Seconds between two dumps of each database and of its log; 0 for never."""
    intervals: dict[tuple[str, str], float] = {}
    for database in databases:
        for entry in (each for each in entries if each.is_about(database)):
            for dumped, interval in (("database", entry.database), ("log", entry.log)):
                if interval is not None:
                    intervals.setdefault((database, dumped), interval)
    return OWN.family("ase_dump_interval_seconds", intervals.items())
