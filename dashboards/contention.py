"""Dashboard of spinlock contention: by cache, class and slot, its CPU cost, and remedies."""

from dashboards import common, thresholds
from dashboards.common import NO_SPINLOCKS
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, Text, TimeSeries, by_pattern, right_axis
from dashboards.queries import Query, now
from dashboards.remedies import remedies_markdown

HEADLINES: list[Panel] = [
    common.verdict(),
    Stat(
        title="Hottest spinlock (good: < 10 %)",
        description="The spinlock with the highest CPU cost on the chosen servers, and its contention (waits / "
        "grabs). Remedies: the table below. Source: monSpinlockActivity.",
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
        title="Spinning (good: 0)",
        description="Share of all engine time spent spinning, the worst of the chosen servers; estimated from "
        "the number of spins. Sources: monSpinlockActivity.Spins, monEngine.",
        unit="percentunit",
        decimals=1,
        queries=[now("max(ase:cpu_spinning:ratio_rate1m{$selector})")],
        thresholds=thresholds.SPINNING,
        empty=NO_SPINLOCKS,
    ),
    Stat(
        title="Contended since",
        description="Since when the longest contended spinlock has been over its threshold. Look for a change "
        "mark just before. Source: the alert AseSpinlockContention, pending or firing.",
        unit="dateTimeFromNow",
        queries=[now('min(ALERTS_FOR_STATE{alertname="AseSpinlockContention",$selector}) * 1000')],
        base="orange",
        empty="No spinlock is over the threshold of its class",
        blank="not contended",
    ),
    Stat(
        title="Last change",
        description="Time and content of the last change on the chosen servers. Source: "
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
    Row("Contention, its cost, and changes (orange marks)"),
    common.cache_contention(),
    common.changes_beside(width=12),
    common.spinning_cpu(),
    common.throughput_per_cpu(),
    Row("Grabs, waits and spins: contention of few grabs is harmless"),
    TimeSeries(
        title="Grabs of the hottest spinlocks",
        description="How often each of the ten spinlocks with most spins is taken. Under 1,000 per second "
        "contention does not matter, whatever the ratio. Source: monSpinlockActivity.Grabs.",
        unit="count:/s",
        queries=[Query("topk(10, ase:spinlock_top_grabs:rate1m{$selector})", "{{instance}} {{spinlock}}")],
        empty=NO_SPINLOCKS,
        width=12,
    ),
    TimeSeries(
        title="Waits of the hottest spinlocks (good: few)",
        description="Grabs that found the spinlock taken, for the ten spinlocks with most spins. Remedies: the "
        "table below. Source: monSpinlockActivity.Waits.",
        unit="count:/s",
        queries=[Query("topk(10, ase:spinlock_top_waits:rate1m{$selector})", "{{instance}} {{spinlock}}")],
        empty=NO_SPINLOCKS,
        width=12,
    ),
    TimeSeries(
        title="Spins of the hottest spinlocks (good: few)",
        description="Iterations of the spin loop, which cost CPU and do no work, for the ten spinlocks with "
        "most. Source: monSpinlockActivity.Spins.",
        unit="count:/s",
        queries=[Query("topk(10, ase:spinlock_top_spins:rate1m{$selector})", "{{instance}} {{spinlock}}")],
        empty=NO_SPINLOCKS,
        width=24,
    ),
    Row("Other spinlocks, with the threshold of their class"),
    TimeSeries(
        title="Object and index descriptors (good: under 3 %)",
        description="Contention of the spinlocks of object, index and partition descriptors (DES, IDES, PDES). "
        "Over 3 % calls for action: lower `open object spinlock ratio` or its counterpart. Source: "
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
        title="Other spinlocks by class (good: under 10 %)",
        description="Contention (waits / grabs) of each spinlock class other than caches and descriptors. "
        "Remedies: the table below. Source: monSpinlockActivity.",
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
        title="Hottest slots (good: even)",
        description="Contention of single slots: cache partitions, hash buckets. One slot far above the others "
        "indicates one hot page or object: more partitions will not help, a named cache may. Opt-in: "
        "collector spinlock_slots. Source: monSpinlockActivity.SpinlockSlotID.",
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
        title="Contention and engines (good: contention stays)",
        description="Contention of the hottest spinlock and CPU busy, with engines online on the right axis. If "
        "contention rises with the number of engines, reduce engines. Sources: monSpinlockActivity, "
        "monEngine.",
        unit="percentunit",
        queries=[
            Query("max(ase:spinlock_hottest_contention:ratio_rate1m{$selector})", "hottest spinlock"),
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
        description="A lockless cache takes no spinlock. Its contention shows here: failed compare-and-swap "
        "attempts as a share of all attempts. From 16.0 SP02. Source: monDataCache.CASWaits, "
        "CASGrabs.",
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
        description="Iterations of the spin loop per committed transaction: the cost of contention independent "
        "of load. Compare it before and after a change. Sources: monSpinlockActivity.Spins, "
        "monState.Transactions.",
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
        title="Remedies by spinlock",
        description="From the remedies of `ase-exporter advise`.",
        content=remedies_markdown(),
        height=22,
    ),
    common.not_collected("spinlocks|spinlock_slots|data_caches|engines|threads"),
]

CONTENTION = dashboard(
    uid="ase-contention",
    title="ASE spinlock contention",
    description="Which spinlock costs which share of the CPU, since when, what changed then, and remedies.",
    panels=PANELS,
)
