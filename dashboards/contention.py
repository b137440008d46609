"""Where the server spins instead of works: contention by cache, class and slot, what it costs and what eases it."""

from dashboards import common, thresholds
from dashboards.common import NO_SPINLOCKS
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, Text, TimeSeries, by_pattern, right_axis
from dashboards.queries import Query, now
from dashboards.remedies import what_to_do

HEADLINES: list[Panel] = [
    common.verdict(),
    Stat(
        title="Hottest spinlock (good: < 10 %)",
        description="The spinlock that burns most CPU of the chosen servers, and its contention (waits / "
        "grabs). What eases it: the table below. Source: monSpinlockActivity.",
        unit="percentunit",
        decimals=1,
        queries=[
            now(
                "ase:spinlock_hottest_contention:ratio_rate1m{$selector} and on (job, instance, spinlock)"
                " topk(1, ase:spinlock_top_spins:rate1m{$selector})",
                "{{spinlock}}",
            )
        ],
        thresholds=thresholds.CACHES,
        show="value_and_name",
        empty=NO_SPINLOCKS,
        orientation="horizontal",
        width=6,
    ),
    Stat(
        title="CPU burnt (good: 0)",
        description="Share of all engine time that spins for spinlocks, the worst of the chosen servers: an "
        "estimate by the number of spins. Sources: monSpinlockActivity.Spins, monEngine.",
        unit="percentunit",
        decimals=1,
        queries=[now("max(ase:cpu_spinning:ratio_rate1m{$selector})")],
        thresholds=thresholds.SPINNING,
        empty=NO_SPINLOCKS,
    ),
    Stat(
        title="Contended since",
        description="When contention of the spinlock that is contended longest went over its threshold. Look "
        "for a change mark just before. Source: the alert AseSpinlockContention, pending or firing.",
        unit="dateTimeFromNow",
        queries=[now('min(ALERTS_FOR_STATE{alertname="AseSpinlockContention",$selector}) * 1000')],
        base="orange",
        empty="No spinlock is over the limit of its class",
        blank="not contended",
    ),
    Stat(
        title="Last change",
        description="When something was last changed on the chosen servers, and what. Source: "
        "ase_change_timestamp_seconds.",
        unit="dateTimeFromNow",
        queries=[
            now("topk(1, ase:change_last:timestamp_seconds{$selector}) * 1000", "{{name}}: {{from}} → {{to}}")
        ],
        show="value_and_name",
        name_size=15,
        value_size=22,
        base="text",
        empty=common.NO_CHANGES,
        blank="none found",
        orientation="horizontal",
        justify="auto",
        width=6,
    ),
]

PANELS: list[Panel] = [
    *HEADLINES,
    Row("Where it spins, since when, and what changed then (orange marks)"),
    common.cache_contention(),
    common.changes_beside(width=12),
    common.spinning_cpu(),
    common.throughput_per_cpu(),
    Row("Ratio beside what it is a ratio of: few grabs do no harm"),
    TimeSeries(
        title="Grabs of the hottest spinlocks",
        description="How often each spinlock is taken, the ten that spin most. Under 1,000 a second "
        "contention is of no interest, whatever the ratio. Source: monSpinlockActivity.Grabs.",
        unit="si:/s",
        queries=[Query("topk(10, ase:spinlock_top_grabs:rate1m{$selector})", "{{instance}} {{spinlock}}")],
        empty=NO_SPINLOCKS,
        width=12,
    ),
    TimeSeries(
        title="Waits for them (good: few)",
        description="Grabs that found the spinlock taken, the ten that spin most. What to do: the table "
        "below. Source: monSpinlockActivity.Waits.",
        unit="si:/s",
        queries=[Query("topk(10, ase:spinlock_top_waits:rate1m{$selector})", "{{instance}} {{spinlock}}")],
        empty=NO_SPINLOCKS,
        width=12,
    ),
    TimeSeries(
        title="Spins for them (good: few)",
        description="Turns of the spin loop, each some CPU cycles that do no work; the ten that spin most. "
        "Source: monSpinlockActivity.Spins.",
        unit="si:/s",
        queries=[Query("topk(10, ase:spinlock_top_spins:rate1m{$selector})", "{{instance}} {{spinlock}}")],
        empty=NO_SPINLOCKS,
        width=24,
    ),
    Row("Other spinlocks, each with the threshold of its class"),
    TimeSeries(
        title="Object and index descriptors (good: under 3 %)",
        description="Contention of the spinlocks of object, index and partition descriptors (DES, IDES, "
        "PDES). Over 3 % calls for action: lower `open object spinlock ratio` and its like. Source: "
        "monSpinlockActivity.",
        unit="percentunit",
        queries=[
            Query(
                'topk(20, ase:spinlock_contention:ratio_rate1m{$selector,class=~".*_descriptor"})',
                "{{instance}} {{spinlock}}",
            )
        ],
        thresholds=thresholds.DESCRIPTORS,
        overrides=[by_pattern(".*", custom__axisSoftMax=0.06)],
        empty=NO_SPINLOCKS,
    ),
    TimeSeries(
        title="All the others, by class (good: under 10 %)",
        description="Contention of each class of spinlocks but caches and descriptors: waits / grabs of all "
        "spinlocks of the class. What to do: the table below. Source: monSpinlockActivity.",
        unit="percentunit",
        queries=[
            Query(
                "topk(20, ase:spinlock_class_contention:ratio_rate1m"
                '{$selector,class!~"data_cache|.*_descriptor"})',
                "{{instance}} {{class}}",
            )
        ],
        thresholds=thresholds.CACHES,
        overrides=[by_pattern(".*", custom__axisSoftMax=0.15)],
        empty=NO_SPINLOCKS,
    ),
    TimeSeries(
        title="Hottest slots (good: as hot as each other)",
        description="Contention of single slots: cache partitions, hash buckets. One slot far above its "
        "neighbours means one hot page or object: more partitions will not ease it, a named cache may. "
        "Opt-in: collector spinlock_slots. Source: monSpinlockActivity.SpinlockSlotID.",
        unit="percentunit",
        queries=[
            Query(
                "topk(5, ase:spinlock_slot_top_contention:ratio_rate1m{$selector})",
                "{{instance}} {{spinlock}} [{{slot}}]",
            )
        ],
        thresholds=thresholds.CACHES,
        maximum=1,
        empty="Not collected (yet): the collector spinlock_slots is opt-in, and needs 15.7 SP100",
    ),
    TimeSeries(
        title="Does adding engines make it worse? (good: contention stays)",
        description="Contention of the hottest spinlock beside CPU busy, and engines online on the right "
        "axis. When the step up of the engines is a step up of contention, take engines away. Sources: "
        "monSpinlockActivity, monEngine.",
        unit="percentunit",
        queries=[
            Query(
                "max(ase:spinlock_hottest_contention:ratio_rate1m{$selector})", "contention of the hottest"
            ),
            Query("max(ase:cpu_busy:ratio_rate1m{$selector})", "CPU busy"),
            Query('sum(ase_engines{$selector,state="online"})', "engines online"),
        ],
        thresholds=thresholds.CACHES,
        maximum=1,
        overrides=[right_axis("engines online", "none")],
        empty=NO_SPINLOCKS,
    ),
    TimeSeries(
        title="Compare-and-swap waits of lockless caches (good: few)",
        description="A lockless cache takes no spinlock: its contention shows here, as compare-and-swap "
        "tries that failed by all tries. From 16.0 SP02. Source: monDataCache.CASWaits, CASGrabs.",
        unit="percentunit",
        queries=[
            Query(
                "topk(20, rate(ase_cache_cas_waits_total{$selector}[$__rate_interval])"
                " / (rate(ase_cache_cas_grabs_total{$selector}[$__rate_interval]) > 0))",
                "{{instance}} {{cache}}",
            )
        ],
        empty="No lockless cache is in use (they exist from 16.0 SP02)",
    ),
    TimeSeries(
        title="Spins per transaction (good: falling)",
        description="Turns of the spin loop for each committed transaction: what contention costs a "
        "transaction, whatever the load. Compare it before and after a change. Sources: "
        "monSpinlockActivity.Spins, monState.Transactions.",
        unit="short",
        queries=[
            Query(
                "sum by (instance) (ase:spinlock_class_spins:rate1m{$selector})"
                " / (sum by (instance) (ase:transactions:rate1m{$selector}) > 0)",
                "{{instance}}",
            )
        ],
        empty=NO_SPINLOCKS,
    ),
    Row("What to do"),
    Text(
        title="What eases which spinlock",
        description="Out of the advisor's remedies (ase-exporter advise).",
        content=what_to_do(),
        height=22,
    ),
    common.not_collected("spinlocks|spinlock_slots|data_caches|engines|threads"),
]

CONTENTION = dashboard(
    uid="ase-contention",
    title="ASE spinlock contention",
    description="Which spinlock burns which share of the CPU, since when, what changed then, and what eases "
    "it.",
    panels=PANELS,
)
