"""When something will be full, as the shipped rules forecast it at the end of a period."""

from dataclasses import dataclass
from typing import Self

from ase_exporter.compare.prometheus import Labels, Prometheus, range_text
from ase_exporter.report.period import DAY, Period

# The rules are evaluated every five minutes.
RECENT = 900.0
# A forecast that far ahead says nothing about what is measured over hours.
HORIZON = 30 * DAY


@dataclass(frozen=True, slots=True)
class Forecast:
    """resource: data, log, connections... of a database, '' for the server. free: 0-1. seconds: until it is full."""

    resource: str
    database: str
    free: float
    seconds: float

    @classmethod
    def of(cls, labels: Labels, free: float, seconds: float) -> Self:
        return cls(*_key(labels), free, seconds)

    @property
    def name(self) -> str:
        return f"{self.resource} of {self.database}" if self.database else self.resource


@dataclass(frozen=True, slots=True)
class Forecasts:
    """full: what will be full within HORIZON, the first to be full first. watched: how many resources are judged."""

    full: tuple[Forecast, ...]
    watched: int


def read_forecasts(server: Prometheus, selector: str, period: Period) -> Forecasts:
    recent = range_text(RECENT)
    free = {
        _key(sample.labels): sample.value
        for sample in server.query(f"last_over_time(ase:free:ratio{{{selector}}}[{recent}])", period.end)
    }
    query = f"last_over_time(ase:full:seconds_forecast{{{selector}}}[{recent}]) < {HORIZON:.0f}"
    found = [
        Forecast.of(each.labels, free.get(_key(each.labels), float("nan")), each.value)
        for each in server.query(query, period.end)
    ]
    return Forecasts(tuple(sorted(found, key=lambda each: each.seconds)), len(free))


def _key(labels: Labels) -> tuple[str, str]:
    return labels.get("resource", ""), labels.get("database", "")
