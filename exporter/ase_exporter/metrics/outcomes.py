"""Outcomes of collectors as metrics: success, duration and availability, the same for every kind of collector."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.metrics.families import Family


@dataclass(frozen=True, slots=True)
class CollectorOutcome:
    """How one collector ended. seconds: duration; reason: '' or why it failed."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeMetrics:
    """Names and help texts of the three metrics for one kind of collector.

    availability: `available` is 1 or 0 for every collector, `unavailable` is 1 for those that are not available.
    """

    prefix: str
    success_help: str
    duration_help: str
    availability: Literal["available", "unavailable"]
    availability_help: str

    def families(
        self, outcomes: Mapping[str, CollectorOutcome], unavailable: Mapping[str, str]
    ) -> list[Family]:
        """The metrics in the order of `outcomes`. unavailable: collector -> reason."""
        name = f"{self.prefix}_collector"
        success = Family(f"{name}_success", "gauge", self.success_help, ("collector",))
        duration = Family(f"{name}_duration_seconds", "gauge", self.duration_help, ("collector",))
        availability = Family(
            f"{name}_{self.availability}", "gauge", self.availability_help, ("collector", "reason")
        )
        for collector, outcome in outcomes.items():
            success.add(float(not outcome.reason), collector)
            duration.add(outcome.seconds, collector)
            if self.availability == "available" and collector not in unavailable:
                availability.add(1.0, collector, "")
        for collector, reason in sorted(unavailable.items()):
            availability.add(float(self.availability == "unavailable"), collector, reason)
        return [family for family in (success, duration, availability) if family.samples]
