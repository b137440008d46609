"""Outcomes of collectors as metrics, the same for every kind of collector."""

from collections.abc import Mapping
from dataclasses import dataclass

from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family


@dataclass(frozen=True, slots=True)
class CollectorOutcome:
    """How one collector ended. seconds: duration; reason: '' or why it failed."""

    seconds: float
    reason: str = ""


def outcome_families(prefix: str, outcomes: Mapping[str, CollectorOutcome]) -> list[Family]:
    """Success and duration, in the order of `outcomes`. prefix: ase_exporter or dbhost."""
    success = [((name,), float(not outcome.reason)) for name, outcome in outcomes.items()]
    seconds = [((name,), outcome.seconds) for name, outcome in outcomes.items()]
    families = [
        OWN.family(f"{prefix}_collector_success", success),
        OWN.family(f"{prefix}_collector_duration_seconds", seconds),
    ]
    return [family for family in families if family.samples]
