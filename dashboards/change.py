"""Dashboard of one change: measures before and after it, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboards import change_windows, common, thresholds
from dashboards.layout import choice, dashboard
from dashboards.panels import Panel, Row, Stat, TimeSeries, by_name, steps
from dashboards.queries import DATASOURCE, SELECTOR, Json, Query, now, rows
from dashboards.tables import Column, Table, labels

WINDOWS = {"10s": 10, "20s": 20, "1m": 60, "5m": 300, "10m": 600, "30m": 1800, "1h": 3600}

# Both windows are hidden variables (see change_windows), so that panels query whole ranges that have data.
BEFORE = "[${before}s] @ $before_to"
AFTER = "[${after}s] @ $after_to"

# Marks "not measured on this side": outside the range of a ratio and of percentage points.
NOT_MEASURED = "-900"
POINTS = "suffix:pp"

NO_CHANGE = "Choose a change above; an empty list means that none was detected in the last hours"
NO_DATA = "No data before or after this change (yet): wait until it has settled, or choose another change"


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """A measure before and after a change. better: up, down or neither is good; expr: PromQL with window `$w`."""

    title: str
    description: str
    unit: str
    better: str
    expr: str
    decimals: int = 1

    def before(self) -> str:
        return self.expr.replace("$w", BEFORE)

    def after(self) -> str:
        return self.expr.replace("$w", AFTER)


TRANSACTIONS = "sum(rate(ase_transactions_total{$selector}$w))"
CPU_UNITS = (
    "(sum(rate(ase_thread_cpu_seconds_total{$selector}$w))"
    ' or sum(rate(ase_engine_cpu_seconds_total{$selector,mode=~"user|system"}$w)))'
)

MEASURES = (
    BeforeAfter(
        "Throughput per CPU unit (good: up)",
        "Committed transactions per CPU consumed: the effect of the change on efficiency. Sources: "
        "monState.Transactions, monThread.",
        "short",
        "up",
        f"{TRANSACTIONS} / ({CPU_UNITS} > 0)",
    ),
    BeforeAfter(
        "Transactions per second (the load)",
        "Committed transactions per second. If the load differs a lot, the other measures compare "
        "different work. Source: monState.Transactions.",
        "short",
        "neither",
        TRANSACTIONS,
        0,
    ),
    BeforeAfter(
        "CPU busy (good: down)",
        "User and system time as a share of all engine time. Source: monEngine.",
        "percentunit",
        "down",
        'sum(rate(ase_engine_cpu_seconds_total{$selector,mode=~"user|system"}$w))'
        " / sum(rate(ase_engine_cpu_seconds_total{$selector}$w))",
    ),
    BeforeAfter(
        "Spins per transaction (good: down)",
        "Iterations of the spin loop per committed transaction. Sources: monSpinlockActivity.Spins, "
        "monState.Transactions.",
        "short",
        "down",
        f"sum(rate(ase_spinlock_spins_total{{$selector}}$w)) / ({TRANSACTIONS} > 0)",
    ),
    BeforeAfter(
        "Reads from disk per transaction (good: down)",
        "Buffers read from disk per committed transaction. Source: monState.PhysicalReads, Transactions.",
        "short",
        "down",
        f"sum(rate(ase_physical_reads_total{{$selector}}$w)) / ({TRANSACTIONS} > 0)",
        2,
    ),
    BeforeAfter(
        "Deadlocks per second (good: down)",
        "Deadlocks per second. Source: monState.Deadlocks.",
        "count:/s",
        "down",
        "sum(rate(ase_deadlocks_total{$selector}$w))",
        2,
    ),
)


def _stat(measure: BeforeAfter) -> Stat:
    less, more = {"up": ("red", "green"), "down": ("green", "red")}.get(measure.better, ("text", "text"))
    if measure.unit == "percentunit":
        how, unit, noise = "after - before, in percentage points", POINTS, 0.5
        difference = f"100 * ({measure.after()} - {measure.before()})"
    else:
        how, unit, noise = "(after - before) / before", "percentunit", 0.03
        difference = f"{measure.after()} / ({measure.before()} > 0) - 1"
    coloured = steps([(-noise, "text"), (noise, more)], less)
    return Stat(
        title=measure.title,
        description=f"{measure.description} Difference: {how}.",
        unit=measure.unit,
        decimals=measure.decimals,
        queries=[
            now(measure.before(), "before"),
            now(measure.after(), "after"),
            now(difference, "difference"),
        ],
        base="text",
        show="value_and_name",
        orientation="vertical",
        overrides=[
            by_name("difference", unit=unit, decimals=int(unit == POINTS), thresholds=coloured),
        ],
        empty=NO_DATA,
        blank="no data then",
        width=8,
        height=5,
    )


def _table(
    title: str, description: str, label: str, heading: str, expr: str, better: str, empty: str
) -> Table:
    before, after = f"({expr.replace('$w', BEFORE)})", f"({expr.replace('$w', AFTER)})"
    # Each query returns all rows: otherwise Grafana names the columns differently if one of them is empty.
    one_side = f"({before} or {after}) * 0 + {NOT_MEASURED}"
    colours: Sequence[tuple[float, str]] = [(-0.5, "text"), (0.5, "green" if better == "up" else "red")]
    return Table(
        title=title,
        description=f"{description} Difference: after - before, in percentage points.",
        queries=[
            rows(f"{before} or {one_side}"),
            rows(f"{after} or {one_side}"),
            rows(f"100 * ({after} - {before}) or {one_side}"),
        ],
        columns=[
            Column(name=label, title=heading),
            Column(
                name="Value #A", title="Before", unit="percentunit", decimals=1, none=NOT_MEASURED, width=95
            ),
            Column(
                name="Value #B", title="After", unit="percentunit", decimals=1, none=NOT_MEASURED, width=95
            ),
            Column(
                name="Value #C",
                title="Difference",
                unit=POINTS,
                decimals=1,
                thresholds=colours,
                base="red" if better == "up" else "green",
                none=NOT_MEASURED,
                width=95,
            ),
        ],
        sort=["Before"],
        empty=empty,
        width=12,
        height=9,
    )


def _contention(matchers: str) -> str:
    return (
        f"sum by (spinlock) (rate(ase_spinlock_waits_total{{$selector,{matchers}}}$w))"
        f" / (sum by (spinlock) (rate(ase_spinlock_grabs_total{{$selector,{matchers}}}$w)) > {thresholds.MIN_GRABS})"
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
        queries=rows(
            "(last_over_time(ase_change_timestamp_seconds{$selector}[1h]) > $before_to) <= $after_from"
        ),
        columns=[
            Column(name="kind", title="Kind", width=110),
            *labels(name="What", from_="From", to="To"),
        ],
        empty=NO_CHANGE,
        width=20,
        height=7,
    ),
    Row("Before and after, each over up to the window chosen above, without other changes and restarts"),
    *(_stat(measure) for measure in MEASURES),
    Row("Contention and caches by name"),
    _table(
        "Spinlock contention of caches (good: down)",
        f"Waits / grabs of data cache spinlocks with over {thresholds.MIN_GRABS} grabs per second. Source: "
        "monSpinlockActivity.",
        "spinlock",
        "Cache",
        _contention('class="data_cache",spinlock!~"bufspin .*"'),
        "down",
        f"Not collected, or no cache with over {thresholds.MIN_GRABS} grabs per second before and after",
    ),
    _table(
        "Contention of other spinlocks (good: down)",
        f"Waits / grabs of other spinlocks with over {thresholds.MIN_GRABS} grabs per second. "
        "Source: monSpinlockActivity.",
        "spinlock",
        "Spinlock",
        _contention('class!="data_cache"'),
        "down",
        f"Not collected, or no spinlock with over {thresholds.MIN_GRABS} grabs per second before and after",
    ),
    _table(
        "Hit ratio of caches (good: up)",
        "Share of searches that found their page in the cache. Source: monDataCache.",
        "cache",
        "Cache",
        "1 - sum by (cache) (rate(ase_cache_physical_reads_total{$selector}$w))"
        " / (sum by (cache) (rate(ase_cache_searches_total{$selector}$w)) > 0)",
        "up",
        NO_DATA,
    ),
    _table(
        "Waits by class: share of all time waited",
        "Share of the time waited by event class, without clients and timers. A share that grew is "
        "what the server waits for now. Source: monSysWaits.",
        "class",
        "Class",
        'sum by (class) (rate(ase_wait_seconds_total{$selector,class!~"waiting for internal system '
        'event|waiting for input from the network"}$w))'
        ' / ignoring (class) group_left sum (rate(ase_wait_seconds_total{$selector,class!~"waiting for '
        'internal system event|waiting for input from the network"}$w))',
        "down",
        "Not collected (yet): the collector waits, `wait event timing` or `enable monitoring` is off",
    ),
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
