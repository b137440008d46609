"""Renders HTML pages: Jinja2 templates over one base, in which every value is escaped."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ase_exporter.pages.text import (
    as_count,
    as_duration,
    as_figure,
    as_minute,
    as_percent,
    as_precise,
    as_second,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_FILTERS = {
    "count": as_count,
    "duration": as_duration,
    "figure": as_figure,
    "minute": as_minute,
    "percent": as_percent,
    "precise": as_precise,
    "second": as_second,
}


def render(template: str, **values: object) -> str:
    """A page. template: a file's name in `templates`. Every value but the SVG of charts is escaped."""
    return _environment().get_template(template).render(values)


def polylines(values: Sequence[float | None], high: float, width: float, height: float) -> list[str]:
    """The lines of a sparkline as SVG points: values from 0 to `high`, evenly spaced. None and NaN interrupt a line."""
    step = width / max(1, len(values) - 1)
    lines: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None or value != value:
            lines.append([])
            continue
        share = min(max(value, 0.0) / (high or 1.0), 1.0)
        lines[-1].append(f"{place * step:.1f},{height * (1 - share):.1f}")
    return [" ".join(line) for line in lines if line]


@cache
def _environment() -> "Environment":
    # Imported here: the process that serves metrics does without Jinja2 until somebody opens a page.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(_FILTERS)
    environment.globals["polylines"] = polylines
    return environment
