"""Threshold lines from alerts/parameters.yaml, so that graphs and alerts use the same values."""

from pathlib import Path
from typing import Any

from ase_exporter.assets import load_yaml


class _Ratio(float):
    """A parameter that knows its name: what `write dashboards --thresholds` replaces."""

    parameter: str


class _Whole(int):
    parameter: str


def _named(value: Any, parameter: str) -> Any:
    if kind := {float: _Ratio, int: _Whole}.get(type(value)):
        value = kind(value)
        value.parameter = parameter
    return value


PARAMETERS: dict[str, dict[str, Any]] = {
    group: {name: _named(value, f"{group}.{name}") for name, value in values.items()}
    for group, values in load_yaml(
        (Path(__file__).parents[1] / "alerts" / "parameters.yaml").read_text()
    ).items()
}

SPINLOCK = PARAMETERS["spinlock"]
SECONDS_PER_SPIN = float(SPINLOCK["seconds_per_spin"])
# Fewer spins per second cost nothing, and contention of fewer grabs means nothing.
MIN_SPINS = round(SPINLOCK["min_engine_share"] / SECONDS_PER_SPIN)
MIN_GRABS = SPINLOCK["min_grabs_per_second"]

CACHES = ((SPINLOCK["cache_warning"], "orange"), (SPINLOCK["critical"], "red"))
DESCRIPTORS = ((SPINLOCK["descriptor_warning"], "orange"), (SPINLOCK["critical"], "red"))
SPINNING = (
    (PARAMETERS["cpu"]["spinning_warning"], "orange"),
    (PARAMETERS["cpu"]["spinning_critical"], "red"),
)
SATURATED = ((PARAMETERS["cpu"]["saturated"], "red"),)
LOG = ((PARAMETERS["log"]["warning"], "orange"), (PARAMETERS["log"]["critical"], "red"))
LATENCY = ((PARAMETERS["device"]["latency_seconds"], "red"),)
BLOCKED = (
    (PARAMETERS["locks"]["blocked_warning"], "orange"),
    (PARAMETERS["locks"]["blocked_critical"], "red"),
)


def percent(ratio: float) -> str:
    """Format a ratio as a percentage."""
    return f"{100 * ratio:g} %"
