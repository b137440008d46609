"""Outcomes of collectors as metrics: success, duration and availability, the same for every kind of collector."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ase_exporter.metrics.families import Family, Sample


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
        available = self.availability == "available"
        reasons = dict.fromkeys(outcomes, "") if available else {}
        reasons |= dict(sorted(unavailable.items()))
        collector = ("collector",)
        families = [
            self._family(
                "success",
                self.success_help,
                collector,
                [((name,), float(not outcome.reason)) for name, outcome in outcomes.items()],
            ),
            self._family(
                "duration_seconds",
                self.duration_help,
                collector,
                [((name,), outcome.seconds) for name, outcome in outcomes.items()],
            ),
            self._family(
                self.availability,
                self.availability_help,
                ("collector", "reason"),
                [
                    ((name, reason), float((name not in unavailable) == available))
                    for name, reason in reasons.items()
                ],
            ),
        ]
        return [family for family in families if family.samples]

    def _family(self, name: str, text: str, labels: tuple[str, ...], samples: list[Sample]) -> Family:
        return Family(f"{self.prefix}_collector_{name}", "gauge", text, labels, samples)
