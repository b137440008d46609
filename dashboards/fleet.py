"""Dashboard of all servers, one row each, the worst first."""

from dashboards import common, thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Stat, TimeSeries
from dashboards.queries import Query, now
from dashboards.tables import Column, Table

# Marks "no data a week ago": outside the range of a ratio. NaN would not do, because VictoriaMetrics drops it.
NO_WEEK = "-9"

SERVER = "by (job, instance)"
THROUGHPUT = "ase:transactions_per_cpu_unit:ratio_rate1m{$selector}"
FIRING = 'count by (job, instance) (ALERTS{alertstate="firing",severity!="none",$selector})'

PANELS: list[Panel] = [
    common.SERVERS_UP,
    common.SERVERS_DOWN,
    Stat(
        title="Servers spinning (good: 0)",
        description=f"Servers that spend over {thresholds.percent(thresholds.SPINNING[0][0])} of their engine "
        "time spinning. Open the worst below. Source: ase:cpu_spinning:ratio_rate1m.",
        queries=now(
            f"count(ase:cpu_spinning:ratio_rate1m{{$selector}} > {thresholds.SPINNING[0][0]})"
            " or 0 * count(ase:cpu_spinning:ratio_rate1m{$selector})"
        ),
        thresholds=[(1, "orange")],
        width=5,
    ),
    Stat(
        title="Engines lost to spinning (good: 0)",
        description="CPU time of all servers together that is spent spinning instead of working, in engines; "
        f"estimated at {thresholds.SECONDS_PER_SPIN:g} s per spin. Source: monSpinlockActivity.Spins.",
        decimals=1,
        queries=now(
            "sum(ase:cpu_spinning:ratio_rate1m{$selector}"
            " * on (job, instance) group_left sum by (job, instance) "
            '(ase_engines{$selector,state="online"}))'
        ),
        thresholds=[(1, "orange")],
        width=6,
    ),
    Stat(
        title="Alerts (good: 0)",
        description="Alerts firing now for the chosen servers. Each has a runbook.",
        queries=now(f"sum({FIRING}) or 0 * count(ase_up{{$selector}})"),
        thresholds=[(1, "orange")],
    ),
    Table(
        title="Servers, the worst first: click one for details",
        description="One row per server by the first word of its diagnosis: first those whose work has "
        "stopped, then by the share of session time that it explains (weight; below 0 nothing is wrong). "
        "High contention with little spinning does not matter. Throughput per CPU unit should be high and "
        "steady; beside it, its difference from the same hour a week ago.",
        columns=[
            Column(label="instance", title="Server", width=130),
            Column(label="word", title="State", width=125),
            Column(
                title="Weight",
                expr="max by (job, instance, word) (topk by (job, instance) (1, ase_diagnosis_rank{$selector}))"
                " or on (job, instance)"
                ' label_replace(1 - 2 * max by (job, instance) (ase_up{$selector}), "word", "up or down", "", "")',
                decimals=2,
                thresholds=[(-1.5, "orange"), (thresholds.PARAMETERS["diagnosis"]["severe_share"], "red")],
                width=65,
            ),
            Column(
                title="CPU busy",
                expr=f"max {SERVER} (ase:cpu_busy:ratio_rate1m{{$selector}})",
                unit="percentunit",
                decimals=0,
                bar=True,
                maximum=1,
                thresholds=thresholds.SATURATED,
                width=90,
            ),
            Column(
                title="Spinning",
                expr=f"max {SERVER} (ase:cpu_spinning:ratio_rate1m{{$selector}})",
                unit="percentunit",
                decimals=1,
                bar=True,
                maximum=1,
                thresholds=thresholds.SPINNING,
                width=95,
            ),
            Column(label="spinlock", title="Hottest spinlock"),
            Column(
                title="Contention",
                expr="max by (job, instance, spinlock) (ase:spinlock_hottest_contention:ratio_rate1m{$selector})",
                unit="percentunit",
                decimals=1,
                thresholds=thresholds.CACHES,
                width=90,
            ),
            Column(title="Tx/CPU", expr=f"max {SERVER} ({THROUGHPUT})", unit="short", decimals=1, width=65),
            Column(
                title="Week ago",
                expr=f"max {SERVER} ({THROUGHPUT} / avg_over_time({THROUGHPUT}[1h] offset 1w) - 1)"
                f" or 0 * max {SERVER} (ase_up{{$selector}}) + {NO_WEEK}",
                none=NO_WEEK,
                unit="percentunit",
                decimals=0,
                thresholds=[(-0.25, "orange"), (-0.1, "text"), (0.1, "green")],
                base="red",
                width=85,
            ),
            Column(
                title="Alerts",
                expr=f"({FIRING} and on (job, instance) ase_up{{$selector}})"
                f" or 0 * max {SERVER} (ase_up{{$selector}})",
                thresholds=[(1, "orange")],
                width=70,
            ),
            Column(label="name", title="Last change"),
            Column(
                title="When",
                expr="1000 * max by (job, instance, name)"
                " (topk by (job, instance) (1, ase:changes_latest:timestamp_seconds{$selector}))"
                f" or on (job, instance) label_replace(0 * max {SERVER} (ase_up{{$selector}}), "
                '"name", "none found", "", "")',
                unit="dateTimeFromNow",
                none="0",
                width=110,
            ),
        ],
        # A server that is down has no figures, so its weight sorts it first.
        sort=["Weight", "Spinning", "Alerts"],
        height=13,
    ),
    TimeSeries(
        title="CPU spent spinning, the ten worst (good: near 0)",
        description="Share of engine time spent spinning, which does no work; estimated from the number of "
        "spins. What to do: open the server, then Contention and caches.",
        queries=Query("topk(10, ase:cpu_spinning:ratio_rate1m{$selector})"),
        thresholds=thresholds.SPINNING,
        maximum=1,
    ),
    TimeSeries(
        title="Throughput per CPU unit, relative to its daily median (good: near 100 %)",
        description="Committed transactions per CPU unit as a share of their median over a day, the ten "
        "lowest. Less work for the same CPU is the earliest sign of spinning.",
        unit="percentunit",
        queries=Query(
            "bottomk(10, ase:transactions_per_cpu_unit:ratio_rate1m{$selector}"
            " / (ase:transactions_per_cpu_unit:median1d{$selector} > 0))"
        ),
        thresholds=[(thresholds.PARAMETERS["cpu"]["throughput_share"], "orange")],
        empty="Unknown: the median needs some time at over 30 % busy",
    ),
]

FLEET = dashboard(
    uid="ase-fleet",
    title="ASE fleet",
    description="One row per server, the worst first.",
    panels=PANELS,
    past="6h",
)
