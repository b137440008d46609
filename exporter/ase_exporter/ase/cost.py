"""What reading a target has cost so far: statements, rows, bytes and seconds."""

from dataclasses import dataclass

from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family


@dataclass(slots=True)
class Cost:
    """Totals of one target since the exporter was started. seconds: time in statements; received: bytes."""

    scrapes: int = 0
    connects: int = 0
    statements: int = 0
    rows: int = 0
    seconds: float = 0.0
    received: int = 0

    def families(self) -> list[Family]:
        """The totals as counters. CPU and reads in the server come from the collector `own_session`."""
        counted = {
            "scrapes": self.scrapes,
            "connects": self.connects,
            "statements": self.statements,
            "statement_seconds": self.seconds,
            "rows": self.rows,
            "received_bytes": self.received,
        }
        return [OWN.value(f"ase_exporter_{name}_total", value) for name, value in counted.items()]
