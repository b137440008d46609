"""Builds the JSON of Grafana panels, for Grafana 9.3 and later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dashboards.queries import DATASOURCE, Json, Query

COLUMNS = 24
DASH: Json = {"index": 9, "text": "–", "color": "text"}
UNKNOWN: Json = {"type": "special", "options": {"match": "nan", "result": DASH}}
# Colour of a missing figure: neither good nor bad, and legible on dark and light.
NEUTRAL = "#808080"
NOT_COLLECTED = "not collected"
# Label of a table -> the dashboard that shows more of it, to which a click on a cell leads.
MORE_ABOUT = {
    "instance": "ase-server",
    "spinlock": "ase-contention",
    "cache": "ase-contention",
    "database": "ase-storage",
}
Thresholds = Sequence[tuple[float, str]]
# Minimum top of an axis by unit: Grafana would scale a line at 0 to 100. Not si:/s, which shows thousandths as m/s.
MIN_TOP = {"percentunit": 0.001, "s": 0.001, "none": 1, "short": 1} | dict.fromkeys(
    ("count:/s", "count:packets/s", "iops"), 5
)
# Titles of graphs whose lowest series is the worst.
HIGH_IS_GOOD = ("(good: high)", "(good: high and steady)", "(good: up)", "(good: near 100 %)")


class Panel(Protocol):
    """A panel on the grid. width, height: in columns (of 24) and rows."""

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    def json(self) -> Json: ...


def steps(thresholds: Thresholds, base: str) -> Json:
    """Return thresholds from (value, colour) pairs; `base` is the colour below the first."""
    return {
        "mode": "absolute",
        "steps": [{"value": None, "color": base}, *({"value": v, "color": c} for v, c in thresholds)],
    }


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


def _defaults(
    unit: str, minimum: float | None, maximum: float | None, empty: str, thresholds: Json, colour: str
) -> Json:
    limits = {"min": minimum, "max": maximum}
    return {
        "unit": unit,
        "noValue": empty,
        "color": {"mode": colour},
        "thresholds": thresholds,
        "mappings": [],
    } | {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSeries:
    """A graph over time.

    unit: a Grafana unit (percentunit, short, reqps…). thresholds: (value, colour) drawn as lines.
    empty: text shown without data; explains why there may be none.
    """

    title: str
    description: str
    unit: str
    queries: Sequence[Query]
    empty: str
    thresholds: Thresholds = ()
    minimum: float | None = 0
    maximum: float | None = None
    stacked: bool = False
    overrides: Sequence[Json] = ()
    width: int = 12
    height: int = 9
    legend_right: bool = False

    def json(self) -> Json:
        defaults = _defaults(
            self.unit,
            self.minimum,
            self.maximum,
            self.empty,
            steps(self.thresholds, "transparent"),
            "palette-classic",
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
        if self.minimum == 0 and self.maximum is None and self.unit in MIN_TOP:
            defaults["custom"]["axisSoftMax"] = MIN_TOP[self.unit]
        return {
            "type": "timeseries",
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "fieldConfig": {"defaults": defaults, "overrides": list(self.overrides)},
            "options": {
                "legend": {
                    "displayMode": "table",
                    "placement": "right" if self.legend_right else "bottom",
                    "showLegend": True,
                    "calcs": ["lastNotNull", "max"],
                    "sortBy": "Last *",
                    # Few rows are visible at once: the worst.
                    "sortDesc": not self.title.endswith(HIGH_IS_GOOD),
                },
                "tooltip": {"mode": "multi", "sort": "desc"},
            },
            "targets": [query.json(number) for number, query in enumerate(self.queries)],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One or a few large figures.

    show: value, name, or value_and_name. names: value -> (text, colour) to show instead. blank: short text shown
    without data; empty: why there may be none, which goes into the description for lack of space.
    """

    title: str
    description: str
    unit: str
    queries: Sequence[Query]
    empty: str
    thresholds: Thresholds = ()
    base: str = "green"
    minimum: float | None = None
    maximum: float | None = None
    blank: str = NOT_COLLECTED
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    show: str = "value"
    name_size: int = 18
    value_size: int = 30
    coloured: str = "value"
    decimals: int | None = None
    orientation: str = "auto"
    justify: str = "center"
    overrides: Sequence[Json] = ()
    width: int = 4
    height: int = 4

    def json(self) -> Json:
        defaults = _defaults(
            self.unit,
            self.minimum,
            self.maximum,
            self.blank,
            steps(self.thresholds, self.base),
            "thresholds",
        )
        if self.decimals is not None:
            defaults["decimals"] = self.decimals
        missing = {"index": 9, "text": self.blank, "color": NEUTRAL}
        defaults["mappings"] = [{"type": "special", "options": {"match": "null", "result": missing}}]
        if self.names:
            options = {
                value: {"index": index, "text": text, "color": colour}
                for index, (value, (text, colour)) in enumerate(self.names.items())
            }
            defaults["mappings"].append({"type": "value", "options": options})
        return {
            "type": "stat",
            "title": self.title,
            "description": f"{self.description} Without data: {self.empty[0].lower()}{self.empty[1:]}.",
            "datasource": DATASOURCE,
            "fieldConfig": {"defaults": defaults, "overrides": list(self.overrides)},
            "options": {
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "orientation": self.orientation,
                "textMode": self.show,
                "colorMode": self.coloured,
                "graphMode": "none",
                "justifyMode": self.justify,
                # Fixed sizes keep a long name beside a figure legible.
                "text": {"titleSize": self.name_size, "valueSize": self.value_size}
                if self.show == "value_and_name"
                else {},
                # What follows is known to newer versions of Grafana only, which fill in the same.
                "percentChangeColorMode": "standard",
                "showPercentChange": False,
                "wideLayout": True,
            },
            "targets": [query.json(number) for number, query in enumerate(self.queries)],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. name: Grafana's name (a label, or `Value #A`…), shown as `title`.

    bar: draw a gauge; thresholds: colour the cell; none: value that means no data.
    """

    name: str
    title: str
    unit: str = ""
    thresholds: Thresholds = ()
    base: str = "green"
    maximum: float | None = None
    bar: bool = False
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    none: str = ""
    width: int | None = None
    decimals: int | None = None

    def override(self, link: str) -> Json:
        """Return how cells look. link: target of a click, "" for none."""
        properties: dict[str, Any] = {"noValue": "–"}
        if self.unit:
            properties["unit"] = self.unit
        elif not self.name.startswith("Value"):
            # Labels may look like numbers: the hash of a statement would be shown as 1.00 Bil.
            properties["unit"] = "string"
        if self.decimals is not None:
            properties["decimals"] = self.decimals
        if self.bar:
            properties |= {"min": 0, "max": self.maximum}
        properties["mappings"] = [UNKNOWN] if self.name.startswith("Value") else []
        if self.none:
            properties["mappings"].append({"type": "value", "options": {self.none: DASH}})
        if self.thresholds or self.names:
            properties["thresholds"] = steps(self.thresholds, self.base)
            properties["color"] = {"mode": "thresholds"}
            properties["custom.displayMode"] = "gradient-gauge" if self.bar else "color-text"
        if self.names:
            options = {
                value: {"index": index, "text": text, "color": colour}
                for index, (value, (text, colour)) in enumerate(self.names.items())
            }
            properties["mappings"].append({"type": "value", "options": options})
        if link:
            properties["links"] = [{"title": self.title, "url": link, "targetBlank": False}]
        if self.width:
            properties["custom.width"] = self.width
        return by_name(self.title, **properties)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of instant queries, merged on their common labels; only `columns` are shown.

    sort: titles of the sort columns, descending, or ascending after "-".
    """

    title: str
    description: str
    queries: Sequence[Query]
    columns: Sequence[Column]
    empty: str
    unit: str = "short"
    sort: Sequence[str] = ()
    width: int = COLUMNS
    height: int = 8

    def json(self) -> Json:
        shown = [column.name for column in self.columns]
        return {
            "type": "table",
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "fieldConfig": {
                "defaults": _defaults(self.unit, None, None, self.empty, steps((), "text"), "thresholds")
                | {"custom": {"align": "auto", "displayMode": "auto", "filterable": False, "inspect": False}},
                "overrides": [column.override(self._link(column.name)) for column in self.columns],
            },
            "options": {
                "frameIndex": 0,
                "showHeader": True,
                "sortBy": [
                    {"displayName": title.removeprefix("-"), "desc": not title.startswith("-")}
                    for title in self.sort
                ],
            },
            "transformations": [
                {"id": "merge", "options": {}},
                {"id": "filterFieldsByName", "options": {"include": {"names": shown}}},
                {
                    "id": "organize",
                    "options": {
                        "excludeByName": {},
                        "indexByName": {name: index for index, name in enumerate(shown)},
                        "renameByName": {column.name: column.title for column in self.columns},
                    },
                },
            ],
            "targets": [query.json(number) for number, query in enumerate(self.queries)],
        }

    def _link(self, label: str) -> str:
        """Return the address of the dashboard that shows more of a label, for the row's server or machine; or ""."""
        of_row = next((column.title for column in self.columns if column.name == "instance"), "")
        if of_row == "Machine":
            uid = "ase-hugepages" if label == "instance" else ""
            chosen = "${host_job:queryparam}&var-host=${__data.fields.Machine}"
        else:
            uid = MORE_ABOUT.get(label, "")
            server = f"var-instance=${{__data.fields.{of_row}}}" if of_row else "${instance:queryparam}"
            chosen = f"${{job:queryparam}}&{server}"
        return f"/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}&{chosen}" if uid else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heatmap:
    """Counts by bucket over time, from cumulative series with the label `le`."""

    title: str
    description: str
    queries: Sequence[Query]
    empty: str
    unit: str = "percentunit"
    width: int = COLUMNS
    height: int = 9

    def json(self) -> Json:
        return {
            "type": "heatmap",
            "title": self.title,
            # Grafana 9.3 shows "No data" in place of noValue.
            "description": f"{self.description} Without data: {self.empty[0].lower()}{self.empty[1:]}.",
            "datasource": DATASOURCE,
            "fieldConfig": {
                "defaults": {"noValue": self.empty, "custom": {"scaleDistribution": {"type": "linear"}}},
                "overrides": [],
            },
            "options": {
                "calculate": False,
                "cellGap": 1,
                "color": {
                    "mode": "scheme",
                    # The same in both themes: Grafana reverses Turbo in the light one.
                    "scheme": "Spectral",
                    "steps": 64,
                    "exponent": 0.5,
                    "fill": "blue",
                    "reverse": False,
                },
                "exemplars": {"color": "rgba(255,0,255,0.7)"},
                "filterValues": {"le": 1e-9},
                "legend": {"show": True},
                "rowsFrame": {"layout": "le"},
                "showValue": "never",
                # show: up to Grafana 9; mode: since 10.
                "tooltip": {"show": True, "mode": "single", "yHistogram": False},
                "yAxis": {"axisPlacement": "left", "unit": self.unit, "reverse": False},
            },
            "targets": [query.json(number) for number, query in enumerate(self.queries)],
        }


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
    """A heading above the panels that follow."""

    title: str
    width: int = COLUMNS
    height: int = 1

    def json(self) -> Json:
        return {"type": "row", "title": self.title, "collapsed": False, "panels": []}
