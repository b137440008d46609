"""Outcomes of collectors as metrics: success, duration and availability, the same for every kind of collector."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ase_exporter.metrics.families import Family, SampleArray, SeriesLabels


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
        collectors, reasons = ("collector",), ("collector", "reason")
        ended = tuple([(collector,) for collector in outcomes])
        available = self.availability == "available"
        states = [(collector, "") for collector in outcomes if available and collector not in unavailable]
        known = [1.0] * len(states) + [float(not available)] * len(unavailable)
        states += sorted(unavailable.items())
        samples = {
            ("success", self.success_help, collectors): _kept(
                ended, tuple([float(not outcome.reason) for outcome in outcomes.values()])
            ),
            ("duration_seconds", self.duration_help, collectors): SampleArray(
                _series(ended), [outcome.seconds for outcome in outcomes.values()]
            ),
            (self.availability, self.availability_help, reasons): _kept(tuple(states), tuple(known)),
        }
        return [
            Family(f"{self.prefix}_collector_{name}", "gauge", text, labels, array)
            for (name, text, labels), array in samples.items()
            if array
        ]


# Nearly all targets of a process have the same collectors with the same outcomes.
@lru_cache(maxsize=256)
def _kept(label_values: tuple[tuple[str, ...], ...], values: tuple[float, ...]) -> SampleArray:
    """These samples, with the text that they keep."""
    return SampleArray(_series(label_values), list(values))


@lru_cache(maxsize=256)
def _series(label_values: tuple[tuple[str, ...], ...]) -> SeriesLabels:
    return SeriesLabels(label_values)
