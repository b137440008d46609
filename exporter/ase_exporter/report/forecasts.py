"""When something will be full, as the shipped rules forecast it at the end of a period."""

from dataclasses import dataclass

from ase_exporter.compare.prometheus import Labels, Prometheus
from ase_exporter.report.period import DAY, Period

# A forecast that far ahead says nothing about what is measured over hours.
HORIZON = 30 * DAY
# The rules are evaluated every five minutes.
_FREE = "last_over_time(ase:free:ratio{%s}[15m])"
FULL = "last_over_time(ase:full:seconds_forecast{%s}[15m])"


@dataclass(frozen=True, slots=True)
class Forecast:
    """One resource. free: 0-1. seconds: until it is full."""

    name: str
    free: float
    seconds: float


def resource_of(labels: Labels) -> str:
    """What will be full: data, log, connections..., of a database or of the server."""
    names = (labels.get("resource", ""), labels.get("database", ""))
    return " of ".join(filter(None, names))


def read_forecasts(server: Prometheus, selector: str, period: Period) -> tuple[list[Forecast], int]:
    """What will be full within HORIZON, the first to be full first; how many resources are watched."""
    free = {resource_of(each.labels): each.value for each in server.query(_FREE % selector, period.end)}
    found = []
    for each in server.query(f"{FULL % selector} < {HORIZON:.0f}", period.end):
        name = resource_of(each.labels)
        found.append(Forecast(name, free.get(name, float("nan")), each.value))
    return sorted(found, key=lambda each: each.seconds), len(free)
