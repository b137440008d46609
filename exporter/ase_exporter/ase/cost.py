"""What reading a target has cost so far: statements, rows, bytes and seconds."""

from dataclasses import dataclass, fields

from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family


@dataclass(slots=True)
class Cost:
    """Totals of one target since the exporter was started, each a counter of that name. Time is that in statements."""

    scrapes: int = 0
    connects: int = 0
    statements: int = 0
    statement_seconds: float = 0.0
    rows: int = 0
    received_bytes: int = 0

    def families(self) -> list[Family]:
        """The totals as counters. CPU and reads in the server come from the collector `own_session`."""
        return [
            OWN.value(f"ase_exporter_{each.name}_total", getattr(self, each.name)) for each in fields(self)
        ]
