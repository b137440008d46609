"""What reading a target has cost so far: statements, rows, bytes and seconds."""

from dataclasses import dataclass

from ase_exporter.metrics.families import Family, single


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
        counted = (
            ("scrapes", "Scrapes of this target.", self.scrapes),
            ("connects", "Logins tried to this target.", self.connects),
            ("statements", "Statements sent to this target.", self.statements),
            (
                "statement_seconds",
                "Time that statements to this target took, answers included.",
                self.seconds,
            ),
            ("rows", "Rows read from this target.", self.rows),
            ("received_bytes", "Bytes that this target sent, by its connections' TCP.", self.received),
        )
        return [
            single(f"ase_exporter_{name}_total", "counter", text, float(value))
            for name, text, value in counted
        ]
