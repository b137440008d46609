"""Builds the JSON of Grafana panels, for Grafana 9.3 and later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dashboards.queries import DATASOURCE, Json, Queries, several
from dashboards.sources import described, reason, unit_of

COLUMNS = 24
# Colour of a missing figure: neither good nor bad, and legible on dark and light.
NEUTRAL = "#808080"
NOT_COLLECTED = "not collected"
Thresholds = Sequence[tuple[float, str]]
# Minimum top of an axis by unit: Grafana would scale a line at 0 to 100. Not si:/s, which shows thousandths as m/s.
MIN_TOP = {"percentunit": 0.001, "s": 0.001, "none": 1, "short": 1} | dict.fromkeys(
    ("count:/s", "count:packets/s", "iops"), 5
)
# Titles of graphs whose lowest series is the worst.
HIGH_IS_GOOD = ("(good: high)", "(good: high and steady)", "(good: up)", "(good: near 100 %)")


class Panel(Protocol):
    """A panel on the grid. width, height: in columns (of 24) and rows; width 0 shares the line with its neighbours.

    A description without sources gets those of its queries. empty: why there may be no data, if the catalogue does not
    know it.
    """

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    def json(self) -> Json: ...


def steps(thresholds: Thresholds, base: str) -> Json:
    """Return thresholds from (value, colour) pairs; `base` is the colour below the first."""
    return {
        "mode": "absolute",
        "steps": [{"value": None, "color": base}, *(_step(*each) for each in thresholds)],
    }


def _step(value: float, colour: str) -> Json:
    """A threshold; Grafana ignores `parameter`, by which `write dashboards` finds what has another value."""
    parameter = getattr(value, "parameter", None)
    return {"value": value, "color": colour} | ({"parameter": parameter} if parameter else {})


def by_name(name: str, **properties: Any) -> Json:
    """Return an override of one field or series. `__` in a property's name stands for a dot."""
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def by_pattern(pattern: str, **properties: Any) -> Json:
    """Return an override of all fields or series whose name matches a regular expression."""
    return by_name(pattern, **properties) | {"matcher": {"id": "byRegexp", "options": pattern}}


def right_axis(name: str, unit: str, **properties: Any) -> Json:
    """Return an override that draws a series on the right axis, in its own unit."""
    # The limits of the left axis do not apply.
    free: dict[str, Any] = {"min": 0, "max": None}
    return by_name(
        name, unit=unit, custom__axisPlacement="right", custom__fillOpacity=0, **(free | properties)
    )


def _with_reason(description: str, queries: Queries, empty: str = "") -> str:
    text = empty or reason(queries)
    return f"{described(description, queries)} Without data: {text[0].lower()}{text[1:]}."


def named(names: Mapping[str, tuple[str, str]]) -> list[Json]:
    """The mapping of values to a text and a colour, if there are any."""
    options = {
        value: {"index": index, "text": text, "color": colour}
        for index, (value, (text, colour)) in enumerate(names.items())
    }
    return [{"type": "value", "options": options}] if names else []


def panel_json(
    kind: str, title: str, description: str, queries: Queries, field_config: Json, options: Json
) -> Json:
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "fieldConfig": field_config,
        "options": options,
        "targets": [query.json(number) for number, query in enumerate(several(queries))],
    }


def defaults_json(unit: str, empty: str, thresholds: Json, colour: str) -> Json:
    return {
        "unit": unit,
        "noValue": empty,
        "color": {"mode": colour},
        "thresholds": thresholds,
        "mappings": [],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSeries:
    """A graph over time.

    unit: a Grafana unit (percentunit, short…), if the name of the metric does not say it. thresholds: (value, colour)
    drawn as lines.
    """

    title: str
    description: str
    queries: Queries
    unit: str = ""
    empty: str = ""
    thresholds: Thresholds = ()
    minimum: float | None = 0
    maximum: float | None = None
    stacked: bool = False
    overrides: Sequence[Json] = ()
    legend: str = "bottom"
    width: int = 0
    height: int = 9

    def json(self) -> Json:
        unit = self.unit or unit_of(self.queries)
        limits = {"min": self.minimum, "max": self.maximum}
        shown: Json = {name: limit for name, limit in limits.items() if limit is not None}
        defaults = shown | defaults_json(
            unit, self.empty or reason(self.queries), steps(self.thresholds, "transparent"), "palette-classic"
        )
        defaults["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1 if self.stacked else 2,
            # Fills of many series add up to one dark area.
            "fillOpacity": 45 if self.stacked else 0,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if self.stacked else "none"},
            "thresholdsStyle": {"mode": "line" if self.thresholds else "off"},
        }
        if self.minimum == 0 and self.maximum is None and unit in MIN_TOP:
            defaults["custom"]["axisSoftMax"] = MIN_TOP[unit]
        return panel_json(
            "timeseries",
            self.title,
            described(self.description, self.queries),
            self.queries,
            {"defaults": defaults, "overrides": list(self.overrides)},
            {
                "legend": {
                    "displayMode": "table",
                    "placement": self.legend,
                    "showLegend": True,
                    "calcs": ["lastNotNull", "max"],
                    "sortBy": "Last *",
                    # Few rows are visible at once: the worst. Of those that have ended, `last` would show the text for
                    # missing data, and Grafana 9.3 would sort them first.
                    "sortDesc": not self.title.endswith(HIGH_IS_GOOD),
                },
                "tooltip": {"mode": "multi", "sort": "desc"},
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One or a few large figures.

    show: value, name, or value_and_name. names: value -> (text, colour) to show instead. blank: short text shown
    without data; why there may be none goes into the description for lack of space.
    """

    title: str
    description: str
    queries: Queries
    unit: str = "none"
    empty: str = ""
    thresholds: Thresholds = ()
    base: str = "green"
    blank: str = NOT_COLLECTED
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    show: str = "value"
    name_size: int = 18
    value_size: int = 30
    coloured: str = "value"
    decimals: int | None = None
    orientation: str = "auto"
    overrides: Sequence[Json] = ()
    width: int = 4
    height: int = 4

    def json(self) -> Json:
        defaults = defaults_json(self.unit, self.blank, steps(self.thresholds, self.base), "thresholds")
        if self.decimals is not None:
            defaults["decimals"] = self.decimals
        missing = {"index": 9, "text": self.blank, "color": NEUTRAL}
        defaults["mappings"] = [{"type": "special", "options": {"match": "null", "result": missing}}]
        defaults["mappings"] += named(self.names)
        return panel_json(
            "stat",
            self.title,
            _with_reason(self.description, self.queries, self.empty),
            self.queries,
            {"defaults": defaults, "overrides": list(self.overrides)},
            {
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "orientation": self.orientation,
                "textMode": self.show,
                "colorMode": self.coloured,
                "graphMode": "none",
                "justifyMode": "center",
                # Fixed sizes keep a long name beside a figure legible.
                "text": {"titleSize": self.name_size, "valueSize": self.value_size}
                if self.show == "value_and_name"
                else {},
                # What follows is known to newer versions of Grafana only, which fill in the same.
                "percentChangeColorMode": "standard",
                "showPercentChange": False,
                "wideLayout": True,
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A Markdown text."""

    title: str
    description: str
    content: str
    width: int = COLUMNS
    height: int = 6

    def json(self) -> Json:
        return {
            "type": "text",
            "title": self.title,
            "description": self.description,
            "options": {"mode": "markdown", "content": self.content},
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A heading above the panels that follow. across: how many of those without a width stand side by side, at most."""

    title: str
    across: int = 2
    width: int = COLUMNS
    height: int = 1

    def json(self) -> Json:
        return {"type": "row", "title": self.title, "collapsed": False, "panels": []}
