"""Panels shared by several dashboards, and texts for missing data."""

from dashboards import thresholds
from dashboards.panels import NEUTRAL, NOT_COLLECTED, Stat, TimeSeries, by_name, by_pattern
from dashboards.queries import DIAGNOSED, Query, figure, now, per, rate
from dashboards.tables import Column, Table, labels

from ase_exporter.catalogue.wait_parts import wait_parts

NO_CHANGES = "No change detected in the last hours"
SPINS = "ase:spinlock_spins:rate1m{$selector}"
# Without what sessions without work and the server's own timers wait for.
WAITS = " or ".join(rate("ase_wait_seconds_total", f",{each}") for each in wait_parts().of_account())


SERVERS_UP = Stat(
    title="Servers up",
    description="Servers that answered the last scrape.",
    queries=now("sum(ase_up{$selector})"),
)

SERVERS_DOWN = Stat(
    title="Servers down (good: 0)",
    description="Targets without a connection or login. ASE exporter health has the error; `ase-exporter check` says "
    "more.",
    queries=now("sum(1 - ase_up{$selector})"),
    thresholds=[(1, "red")],
    width=5,
)

TRANSACTIONS = TimeSeries(
    title="Transactions (good: few rolled back)",
    description="Transactions committed and rolled back. Compare with throughput per CPU unit: fewer at night are "
    "normal, the same number for more CPU is a problem.",
    queries=[
        Query("ase:transactions:rate1m{$selector}", "{{instance}} committed"),
        Query(rate("ase_rollbacks_total"), "{{instance}} rolled back"),
    ],
)

WAITING = TimeSeries(
    title="Waiting tasks by event (good: few)",
    description="Average number of waiting tasks by event (seconds waited per second), the ten largest, without what "
    "idle sessions and the server's timers wait for. What to do: Waits and sessions.",
    queries=Query(f"topk(10, ({WAITS}) > 0)", "{{instance}} {{event}}"),
)


def not_collected(collectors: str = ".+", width: int = 24, height: int = 4) -> Table:
    """Collectors (a pattern) that are unavailable on the server, with the reason."""
    return Table(
        title="Not collected here, and why (good: empty)",
        description="Collectors that are unavailable: an option is off, a role is missing, or the version or "
        "edition lacks the table. `ase-exporter check` prints the SQL that fixes it.",
        rows=f'ase:collector_unavailable:info{{$selector,collector=~"{collectors}"}}',
        columns=labels(instance="Server", collector="Collector", reason="Reason"),
        empty="All collectors of these panels are available",
        width=width,
        height=height,
    )


def latest_changes(width: int = 24, height: int = 8) -> Table:
    """The last four changes of each server."""
    return Table(
        title="Latest changes (marked on graphs)",
        description="Options, caches, bindings, engines, restarts and annotations: the last four of each "
        "server. Their effect: Change impact.",
        columns=[
            Column(
                title="When",
                expr='label_join(ase:changes_latest:timestamp_seconds{$selector}, "change", " → ", "from", "to") '
                "* 1000",
                unit="dateTimeAsIsoNoDateIfToday",
                width=155,
            ),
            Column(label="instance", title="Server", width=105),
            *labels(name="What", change="Change"),
        ],
        sort=["When"],
        empty=NO_CHANGES,
        width=width,
        height=height,
    )


CPU_BUSY = TimeSeries(
    title="CPU busy and spinning (good: no spinning)",
    description="User and system time as a share of all engine time. I/O busy is idle time with I/O "
    "pending and is not included. A spinning engine counts as busy: the second line estimates the CPU "
    "spent spinning. Busy without spinning is useful work.",
    queries=[
        Query("ase:cpu_busy:ratio_rate1m{$selector}", "{{instance}} busy"),
        Query("ase:cpu_spinning:ratio_rate1m{$selector}", "{{instance}} spinning"),
    ],
    thresholds=thresholds.SATURATED,
    maximum=1,
)

THROUGHPUT_PER_CPU = TimeSeries(
    title="Throughput per CPU unit (good: high and steady)",
    unit="short",
    description="Committed transactions per second for each CPU consumed by the server's threads, as in "
    "sp_sysmon. It falls when engines spin: more CPU, but no more work. What to do after a fall: look "
    "for a change mark before it, then open Contention and caches.",
    queries=Query("ase:transactions_per_cpu_unit:ratio_rate1m{$selector}"),
)

CACHE_CONTENTION = TimeSeries(
    title="Spinlock contention of data caches (good: under 10 %)",
    description="Waits / grabs of the spinlocks of each data cache. Over 10 % calls for action, over 50 "
    "% is severe: engines loop until the spinlock is free. What to do: more cache partitions, relaxed "
    "LRU, a named cache for hot tables, a lockless cache. Check grabs first: a ratio of few grabs means "
    "nothing.",
    queries=Query(
        'topk(20, ase:spinlock_contention:ratio_rate1m{$selector,class="data_cache",spinlock!~"bufspin .*"})',
        "{{instance}} {{spinlock}}",
    ),
    thresholds=thresholds.CACHES,
    maximum=1,
)

SPINNING_CPU = TimeSeries(
    title="CPU spent spinning, by spinlock (good: near 0)",
    unit="percentunit",
    description="Share of all engine time spent spinning for each of the ten most expensive spinlocks: this "
    "is the cost of contention, not the ratio of waits. An estimate at "
    f"{thresholds.SECONDS_PER_SPIN:g} s per spin; alerts/README.md explains how to calibrate it. "
    "What to do: reduce contention of the topmost. Sources: monSpinlockActivity.Spins, monEngine.",
    queries=Query(
        f"topk(10, clamp_max({SPINS} * {thresholds.SECONDS_PER_SPIN:g}"
        " / ignoring (class, spinlock) group_left sum without (mode) (ase:engine_cpu:rate1m{$selector}), 1) > 0)",
        "{{instance}} {{spinlock}}",
    ),
)

SEVERE = thresholds.PARAMETERS["diagnosis"]["severe_share"]
VERDICT = Stat(
    title="State (good: WORKS)",
    description="The first word of the diagnosis, as in `top`: what explains most of the time of the sessions "
    "of the worst of the chosen servers. Red: work has stopped, or it explains over "
    f"{thresholds.percent(SEVERE)} of the time; NOT KNOWN: something that could be wrong was not read. Sources: "
    "ase_diagnosis_rank, which the exporter calculates.",
    # A panel of names does not show missing values: a server without a diagnosis has one that says so.
    queries=now(
        "topk(1, max by (word) (ase_diagnosis_rank{$selector}))"
        f' or label_replace(absent(ase_diagnosis_rank{{$selector}}) * 0 + 1, "word", "{NOT_COLLECTED}",'
        ' "", "")',
        "{{word}}",
    ),
    # Ranks of findings are 0 and more; -1 is not known, less is well.
    thresholds=[(-1.5, "orange"), (SEVERE, "red")],
    overrides=[by_name(NOT_COLLECTED, color={"mode": "fixed", "fixedColor": NEUTRAL})],
    show="name",
    coloured="background",
    width=4,
)


# The palette would give two of the parts of the time account the same yellow.
COLOURS = {
    "work|cpu": "green",
    "spinning": "red",
    "run_queue": "orange",
    "lock": "purple",
    "log": "blue",
    "disk": "light-blue",
    "network": "yellow",
    "remote": "dark-yellow",
    "space": "dark-red",
    "other": NEUTRAL,
}
PARTS = [
    by_pattern(f"^({part})$", color={"mode": "fixed", "fixedColor": colour})
    for part, colour in COLOURS.items()
]


def time_account() -> list[TimeSeries]:
    """Where the time goes, per second and per transaction."""
    source = "Sources: monEngine, monSysWaits, monSpinlockActivity, sysprocesses."
    account = "sum by (part) (ase_diagnosis_account_sessions{$selector})"
    return [
        TimeSeries(
            title="Where the time goes (good: mostly work)",
            unit="short",
            description="Sessions by what they spend their time on (seconds per second): work, spinning, the run "
            "queue, locks, the log, disks, the network, remote servers, suspended for space, other. What grew is what "
            f"to look at: each has a dashboard of its own. {source}",
            queries=Query(account, "{{part}}"),
            stacked=True,
            overrides=PARTS,
            legend="right",
        ),
        TimeSeries(
            title="Where the time of a transaction goes (good: short)",
            description="The same for one transaction: about its response time in the server. What to do: compare "
            f"its parts with the time before a change. {source}",
            unit="s",
            queries=Query(
                f"{account} / on () group_left () (sum(ase:transactions:rate1m{{$selector}}) > 0)", "{{part}}"
            ),
            stacked=True,
            overrides=PARTS,
            legend="right",
        ),
    ]


def time_per_io(advice: str) -> TimeSeries:
    """Service time of I/Os by purpose. advice: what to do about it, depending on the dashboard."""
    return TimeSeries(
        title="Time per I/O by purpose (good: under 30 ms)",
        description=f"Service time of I/Os by purpose. Every commit waits for log writes. What to do: {advice}. "
        "Source: monIOQueue.IOTime, IOs.",
        unit="s",
        queries=per("ase_io_queue_seconds_total", "ase_io_queue_ios_total", "{{instance}} {{io}}"),
        thresholds=thresholds.LATENCY,
    )


LOG_SPACE_USED = TimeSeries(
    title="Log space used (good: under 80 %)",
    description="Used log space of the ten fullest databases. A full log suspends all writers. What to "
    "do: dump the log; look for the oldest transaction.",
    queries=figure(DIAGNOSED["log_used"], "{{instance}} {{database}}", "topk(10"),
    thresholds=thresholds.LOG,
    maximum=1,
)
