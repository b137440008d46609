"""Dashboard of one change: the measures of `compare` before and after it, side by side."""

from dashboards import change_windows, common
from dashboards.layout import choice, dashboard
from dashboards.panels import Panel, Row, Stat, Thresholds, TimeSeries, by_name, steps
from dashboards.queries import DATASOURCE, SELECTOR, Json, Query, now
from dashboards.tables import Column, Table, labels

from ase_exporter.compare.measures import Measure, measures
from ase_exporter.diagnosis.promql import over

WINDOWS = {"10s": 10, "20s": 20, "1m": 60, "5m": 300, "10m": 600, "30m": 1800, "1h": 3600}

# Both windows are hidden variables (see change_windows), so that panels query whole ranges that have data.
BEFORE = over("[${before}s] @ $before_to")
AFTER = over("[${after}s] @ $after_to")

# Marks "not measured on this side": outside the range of a ratio and of percentage points.
NOT_MEASURED = "-900"
POINTS = "suffix:pp"
UNITS = {"ratio": "percentunit", "per_second": "count:/s"}
GOOD = {"higher": " (good: up)", "lower": " (good: down)", "neither": ""}
# A smaller change of what is no ratio is not called better or worse.
NOISE = 0.03

NO_CHANGE = "Choose a change above; an empty list means that none was detected in the last hours"
NO_DATA = "No data before or after this change (yet): wait until it has settled, or choose another change"

# Keys of compare/measures.yaml by the width of their figures, and those with a row for each value of a label.
FIGURES = {
    8: ("throughput_per_cpu_unit", "transactions", "cpu_busy", "spins", "physical_reads", "deadlocks"),
    12: ("response_time", "logical_reads"),
}
BY_NAME = ("cache_contention", "spinlock_contention", "cache_hits", "waits_by_class")


def _sides(measure: Measure) -> tuple[str, str]:
    """The query before and after the change, of the names that rank highest on either side."""
    before, after = (f"({measure.promql(SELECTOR, window)})" for window in (BEFORE, AFTER))
    if not measure.rank:
        return before, after
    ranks = (f"topk({measure.top}, ({measure.ranking(SELECTOR, window)}))" for window in (BEFORE, AFTER))
    kept = f" and on ({', '.join(measure.by)}) ({' or '.join(ranks)})"
    return f"({before}{kept})", f"({after}{kept})"


def _unit(measure: Measure) -> str:
    return "ms" if measure.title.startswith("Milliseconds") else UNITS.get(measure.unit, "short")


def _difference(measure: Measure) -> tuple[str, str, str]:
    """The query of the difference, its unit, and how it is calculated."""
    before, after = _sides(measure)
    if measure.unit == "ratio":
        return f"100 * ({after} - {before})", POINTS, "after - before, in percentage points"
    return f"{after} / ({before} > 0) - 1", "percentunit", "(after - before) / before"


def _colours(measure: Measure) -> tuple[str, Thresholds]:
    """The colour of a difference below the first threshold, and the thresholds."""
    noise = 100 * measure.min_difference if measure.unit == "ratio" else NOISE
    less, more = {"higher": ("red", "green"), "lower": ("green", "red")}.get(measure.good, ("text", "text"))
    return less, [(-noise, "text"), (noise, more)]


def _stat(measure: Measure, width: int) -> Stat:
    before, after = _sides(measure)
    difference, unit, how = _difference(measure)
    less, thresholds = _colours(measure)
    decimals = int(unit == POINTS)
    return Stat(
        title=measure.title + GOOD[measure.good],
        description="As `ase-exporter compare` measures it. If transactions per second differ a lot, both sides did "
        f"different work. Difference: {how}.",
        unit=_unit(measure),
        queries=[now(before, "before"), now(after, "after"), now(difference, "difference")],
        base="text",
        show="value_and_name",
        orientation="vertical",
        overrides=[by_name("difference", unit=unit, decimals=decimals, thresholds=steps(thresholds, less))],
        empty=NO_DATA,
        blank="no data then",
        width=width,
        height=5,
    )


def _table(measure: Measure) -> Table:
    before, after = _sides(measure)
    difference, points, how = _difference(measure)
    less, thresholds = _colours(measure)
    # Each query returns all rows: otherwise Grafana names the columns differently if one of them is empty.
    one_side = f"({before} or {after}) * 0 + {NOT_MEASURED}"
    unit = _unit(measure)
    sides = (("Before", before, unit), ("After", after, unit), ("Difference", difference, points))
    return Table(
        title=f"{measure.heading}{GOOD[measure.good]}",
        description=f"{measure.title} each {measure.by[0]}, as `ase-exporter compare` measures it. Difference: {how}.",
        columns=[
            *(Column(label=label, title=label.capitalize()) for label in measure.by),
            *(
                Column(
                    title=title,
                    expr=f"{expr} or {one_side}",
                    unit=unit,
                    decimals=1,
                    none=NOT_MEASURED,
                    thresholds=thresholds if title == "Difference" else (),
                    base=less,
                    width=95,
                )
                for title, expr, unit in sides
            ),
        ],
        sort=["Before"],
        empty=NO_DATA,
        width=12,
        height=9,
    )


# The server start ends the list. "no change" keeps queries valid where there is no server.
CHANGES = (
    f"query_result(sort_desc(last_over_time(ase_change_timestamp_seconds{{{SELECTOR}}}[1h])"
    f" or label_replace(last_over_time(ase_start_timestamp_seconds{{{SELECTOR}}}[1h]),"
    ' "name", "start of the server", "", "")) or on () label_replace(vector(0), "name", "no change", "", ""))'
)

CHANGE: Json = {
    "name": "change",
    "label": "Change",
    "type": "query",
    "datasource": DATASOURCE,
    "definition": CHANGES,
    "query": {"query": CHANGES, "refId": "change"},
    "regex": r'/name="(?<text>[^"]*)".*} (?<value>[0-9.]+) /',
    "refresh": 2,
    "sort": 0,
    "includeAll": False,
    "multi": False,
    "current": {},
}

PANELS: list[Panel] = [
    Stat(
        title="Time of the change",
        description="When the chosen change was made, as far as known: without an audit trail this is when "
        "the exporter detected it.",
        unit="dateTimeAsIso",
        queries=now("(vector($change) > 0) * 1000"),
        base="text",
        empty=NO_CHANGE,
        blank="choose a change",
        height=7,
    ),
    Table(
        title="All changes between before and after",
        description="The chosen change, and all others that follow each other within the settling time: the "
        "comparison shows their combined effect.",
        rows="(last_over_time(ase_change_timestamp_seconds{$selector}[1h]) > $before_to) <= $after_from",
        columns=[Column(label="kind", title="Kind", width=110), *labels(name="What", from_="From", to="To")],
        empty=NO_CHANGE,
        width=20,
        height=7,
    ),
    Row("Before and after, each over up to the window chosen above, without other changes and restarts"),
    *(_stat(measures()[key], width) for width, keys in FIGURES.items() for key in keys),
    Row("Contention, caches and waits by name"),
    *(_table(measures()[key]) for key in BY_NAME),
    Row("Over time, with a mark for every change"),
    common.THROUGHPUT_PER_CPU,
    common.CPU_BUSY,
    common.CACHE_CONTENTION,
    TimeSeries(
        title="Instructions per cycle of the machine (good: up)",
        unit="short",
        description="For huge-page changes: instructions completed per CPU cycle. More on the dashboard Huge "
        "pages and TLB. Source: perf stat.",
        queries=Query("dbhost:instructions_per_cycle:ratio_rate1m{$machine}"),
        empty="Not counted: no machine's exporter runs perf (host: collectors: perf)",
    ),
]

CHANGE_IMPACT = dashboard(
    uid="ase-change",
    title="ASE change impact",
    description="Measures before and after a chosen change. `ase-exporter compare` adds confidence intervals "
    "and compares at equal load.",
    panels=PANELS,
    one_server=True,
    variables=[
        CHANGE,
        choice("window", "Window", WINDOWS, "10m"),
        choice("settle", "Settling time after it", {"1s": 1, "5s": 5, "1m": 60, "5m": 300}, "1m"),
        *change_windows.VARIABLES,
    ],
    past="3h",
)
