"""One change: before and after, side by side, measure by measure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboards import common
from dashboards.layout import choice, dashboard
from dashboards.panels import Column, Panel, Row, Stat, Table, TimeSeries, by_name, steps
from dashboards.queries import DATASOURCE, SELECTOR, Json, Query, now, rows

# The window before it ends `$settle` early, for a change is found a little after it was
# made; the window after it begins with it.
BEFORE = "[$window] @ $change offset $settle"
AFTER = "[$window] @ $change offset -$window"

# Stands for "not measured on this side": a number no share can be.
NO_SIDE = "-9"

NO_CHANGE = "Choose a change above; with none in the list, none was found in the last hours"
NO_DATA_BEFORE = "No data before or after this change: choose a shorter window, or a later change"


@dataclass(frozen=True, slots=True)
class Measure:
    """title, unit; better: down or up is good, or neither; expr: PromQL in which `$w` stands for the window."""

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
    Measure(
        "Throughput per CPU unit (good: up)",
        "Committed transactions for each CPU consumed: what the change did for the work. Sources: "
        "monState.Transactions, monThread.",
        "short",
        "up",
        f"{TRANSACTIONS} / ({CPU_UNITS} > 0)",
    ),
    Measure(
        "Transactions per second (the load)",
        "Committed transactions per second. Where the load differs much, the other measures compare "
        "different work. Source: monState.Transactions.",
        "short",
        "neither",
        TRANSACTIONS,
        0,
    ),
    Measure(
        "CPU busy (good: down)",
        "User and system time by all time of all engines. Source: monEngine.",
        "percentunit",
        "down",
        'sum(rate(ase_engine_cpu_seconds_total{$selector,mode=~"user|system"}$w))'
        " / sum(rate(ase_engine_cpu_seconds_total{$selector}$w))",
    ),
    Measure(
        "Spins per transaction (good: down)",
        "Turns of the spin loop per committed transaction. Sources: monSpinlockActivity.Spins, "
        "monState.Transactions.",
        "short",
        "down",
        f"sum(rate(ase_spinlock_spins_total{{$selector}}$w)) / ({TRANSACTIONS} > 0)",
    ),
    Measure(
        "Reads from disk per transaction (good: down)",
        "Buffers read from disk per committed transaction. Source: monState.PhysicalReads, Transactions.",
        "short",
        "down",
        f"sum(rate(ase_physical_reads_total{{$selector}}$w)) / ({TRANSACTIONS} > 0)",
        2,
    ),
    Measure(
        "Deadlocks per second (good: down)",
        "Deadlocks per second. Source: monState.Deadlocks.",
        "si:/s",
        "down",
        "sum(rate(ase_deadlocks_total{$selector}$w))",
        2,
    ),
)


def _stat(measure: Measure) -> Stat:
    less, more = {"up": ("red", "green"), "down": ("green", "red")}.get(measure.better, ("text", "text"))
    coloured = steps([(-0.03, "text"), (0.03, more)], less)
    return Stat(
        title=measure.title,
        description=f"{measure.description} Difference: after against before, as a share of before.",
        unit=measure.unit,
        decimals=measure.decimals,
        queries=[
            now(measure.before(), "before"),
            now(measure.after(), "after"),
            now(f"{measure.after()} / ({measure.before()} > 0) - 1", "difference"),
        ],
        base="text",
        show="value_and_name",
        orientation="vertical",
        overrides=[by_name("difference", unit="percentunit", decimals=0, thresholds=coloured)],
        empty=NO_DATA_BEFORE,
        blank="no data then",
        width=8,
        height=5,
    )


def _table(
    title: str, description: str, label: str, heading: str, expr: str, better: str, empty: str
) -> Table:
    before, after = f"({expr.replace('$w', BEFORE)})", f"({expr.replace('$w', AFTER)})"
    # Each query has all rows: Grafana calls the columns otherwise where one of them has none.
    one_side = f"({before} or {after}) * 0 + {NO_SIDE}"
    colours: Sequence[tuple[float, str]] = [(-0.005, "text"), (0.005, "green" if better == "up" else "red")]
    return Table(
        title=title,
        description=f"{description} Difference: after less before, in percentage points.",
        queries=[
            rows(f"{before} or {one_side}"),
            rows(f"{after} or {one_side}"),
            rows(f"{after} - {before} or {one_side}"),
        ],
        columns=[
            Column(name=label, title=heading),
            Column(name="Value #A", title="Before", unit="percentunit", decimals=1, none=NO_SIDE, width=95),
            Column(name="Value #B", title="After", unit="percentunit", decimals=1, none=NO_SIDE, width=95),
            Column(
                name="Value #C",
                title="Difference",
                unit="percentunit",
                decimals=1,
                thresholds=colours,
                base="red" if better == "up" else "green",
                none=NO_SIDE,
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
        f" / (sum by (spinlock) (rate(ase_spinlock_grabs_total{{$selector,{matchers}}}$w)) > 1000)"
    )


# The start of the server ends the list, so that there is always something to choose.
CHANGES = (
    f"query_result(sort_desc(last_over_time(ase_change_timestamp_seconds{{{SELECTOR}}}[1h])"
    f" or label_replace(last_over_time(ase_start_timestamp_seconds{{{SELECTOR}}}[1h]),"
    ' "name", "start of the server", "", "")))'
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
        title="Made at",
        description="When the chosen change was made, as far as is known: without an audit trail the "
        "exporter finds a change at its next look. Source: ase_change_timestamp_seconds.",
        unit="dateTimeAsIso",
        queries=[now("vector($change) * 1000")],
        base="text",
        empty=NO_CHANGE,
        blank="choose a change",
        height=7,
    ),
    Table(
        title="What changed then: everything within a minute of the chosen change",
        description="All changes of the server within a minute of the chosen one: what is compared is their "
        "effect together. Source: ase_change_timestamp_seconds.",
        queries=[
            rows(
                "(last_over_time(ase_change_timestamp_seconds{$selector}[1h]) > $change - 60) < $change + 60"
            ),
        ],
        columns=[
            Column(name="kind", title="Kind", width=110),
            Column(name="name", title="What"),
            Column(name="from", title="From"),
            Column(name="to", title="To"),
        ],
        empty=NO_CHANGE,
        width=20,
        height=7,
    ),
    Row("Before and after: each window is as long as chosen above"),
    *(_stat(measure) for measure in MEASURES),
    Row("Contention and caches, one by one"),
    _table(
        "Spinlock contention of caches (good: down)",
        "Waits / grabs of the spinlocks of data caches with over 1,000 grabs a second. Source: "
        "monSpinlockActivity.",
        "spinlock",
        "Cache",
        _contention('class="data_cache",spinlock!~"bufspin .*"'),
        "down",
        "Not collected, or no cache with over 1,000 grabs a second before and after",
    ),
    _table(
        "Contention of other spinlocks (good: down)",
        "Waits / grabs of other spinlocks with over 1,000 grabs a second. Source: monSpinlockActivity.",
        "spinlock",
        "Spinlock",
        _contention('class!="data_cache"'),
        "down",
        "Not collected, or no spinlock with over 1,000 grabs a second before and after",
    ),
    _table(
        "Hit ratio of caches (good: up)",
        "Searches that found their page. Source: monDataCache.",
        "cache",
        "Cache",
        "1 - sum by (cache) (rate(ase_cache_physical_reads_total{$selector}$w))"
        " / (sum by (cache) (rate(ase_cache_searches_total{$selector}$w)) > 0)",
        "up",
        NO_DATA_BEFORE,
    ),
    _table(
        "Where the waits went: share of all time waited",
        "Share of the time waited by class of events, without waiting for clients and timers. A share that "
        "grew is what the server waits for now. Source: monSysWaits.",
        "class",
        "Class",
        'sum by (class) (rate(ase_wait_seconds_total{$selector,class!~"waiting for internal system '
        'event|waiting for input from the network"}$w))'
        ' / ignoring (class) group_left sum (rate(ase_wait_seconds_total{$selector,class!~"waiting for '
        'internal system event|waiting for input from the network"}$w))',
        "down",
        common.NO_WAITS,
    ),
    Table(
        title="What the exporter itself found of these changes, at the same load and beyond chance",
        description="Verdicts of `ase-exporter compare`, made by the exporter where `changes: verdicts:` is "
        "set: the difference as a share of before, with confidence. Source: ase_change_effect_ratio.",
        queries=[rows("last_over_time(ase_change_effect_ratio{$selector}[1h])")],
        columns=[
            Column(name="name", title="Change"),
            Column(name="measure", title="Measure"),
            Column(name="row", title="Of"),
            Column(name="Value", title="Difference", unit="percentunit", decimals=1),
            Column(
                name="verdict",
                title="Verdict",
                names={"better": ("better", "green"), "worse": ("worse", "red")},
            ),
        ],
        empty="Not judged: verdicts are off (changes: verdicts: in the configuration)",
        height=7,
    ),
    Row("The same over time, with every change as a mark"),
    common.throughput_per_cpu(),
    common.cpu_busy(),
    common.cache_contention(),
    TimeSeries(
        title="Instructions per cycle of the machine (good: up)",
        description="For changes of huge pages: how much work a CPU cycle does. Huge pages and TLB has the "
        "rest. Source: perf stat.",
        unit="short",
        queries=[Query("dbhost:instructions_per_cycle:ratio_rate1m{$machine}", "{{instance}}")],
        empty="Not counted: no machine's exporter runs perf (host: collectors: perf)",
    ),
]

CHANGE_IMPACT = dashboard(
    uid="ase-change",
    title="ASE change impact",
    description="Choose a change: what was measured before it and after it. `ase-exporter compare` adds "
    "confidence intervals and compares at the same load.",
    panels=PANELS,
    one_server=True,
    variables=[
        CHANGE,
        choice("window", "Compared", ["10s", "20s", "1m", "5m", "10m", "30m", "1h", "6h"], "10m"),
        choice("settle", "Left out before it", ["1s", "5s", "1m", "5m"], "1m"),
    ],
    past="3h",
)
