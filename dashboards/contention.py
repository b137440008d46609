"""Dashboard of contention and caches: spinlocks with their CPU cost, data caches, and remedies."""

from dashboards import common, thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, Text, TimeSeries, by_pattern, right_axis
from dashboards.queries import COMPARED, Query, figure, now, per, rate
from dashboards.remedies import remedies_markdown
from dashboards.tables import Column, Table, labels

BY_CACHE = "{{instance}} {{cache}}"
BY_SPINLOCK = "{{instance}} {{spinlock}}"
GRABS = "ase:spinlock_grabs:rate1m{$selector}"
OTHERS = '{$selector,class!~"data_cache|.*_descriptor"}'

HEADLINES: list[Panel] = [
    common.VERDICT,
    Stat(
        title="Hottest spinlock (good: < 10 %)",
        description="The spinlock with the highest CPU cost on the chosen servers, and its contention (waits "
        "/ grabs). Remedies: the table below.",
        unit="percentunit",
        decimals=1,
        queries=now(
            "ase:spinlock_hottest_contention:ratio_rate1m{$selector} and on (job, instance, spinlock)"
            " topk(1, ase:spinlock_spins:rate1m{$selector})",
            "{{spinlock}}",
        ),
        thresholds=thresholds.CACHES,
        show="value_and_name",
        orientation="horizontal",
        width=6,
    ),
    Stat(
        title="Spinning (good: 0)",
        description="Share of all engine time spent spinning, the worst of the chosen servers; estimated "
        "from the number of spins.",
        unit="percentunit",
        decimals=1,
        queries=now("max(ase:cpu_spinning:ratio_rate1m{$selector})"),
        thresholds=thresholds.SPINNING,
    ),
    Stat(
        title="Contended since",
        description="Since when the longest contended spinlock has been over its threshold. Look for a "
        "change mark just before.",
        unit="dateTimeFromNow",
        queries=now('min(ALERTS_FOR_STATE{alertname="AseSpinlockContention",$selector}) * 1000'),
        base="orange",
        empty="No spinlock is over the threshold of its class",
        blank="not contended",
    ),
    Stat(
        title="Last change",
        description="Time and content of the last change on the chosen servers.",
        unit="dateTimeFromNow",
        queries=now(
            "topk(1, ase:changes_latest:timestamp_seconds{$selector}) * 1000", "{{name}}: {{from}} → {{to}}"
        ),
        show="value_and_name",
        name_size=15,
        value_size=22,
        base="text",
        empty=common.NO_CHANGES,
        blank="none found",
        orientation="horizontal",
        width=6,
    ),
]

PANELS: list[Panel] = [
    *HEADLINES,
    Row("Contention, its cost, and changes (orange marks)"),
    common.CACHE_CONTENTION,
    common.latest_changes(width=0, height=9),
    common.SPINNING_CPU,
    common.THROUGHPUT_PER_CPU,
    Row("Grabs and spins: contention of few grabs is harmless"),
    TimeSeries(
        title="Grabs of the busiest spinlocks",
        description="How often the ten spinlocks that are taken most are taken, of those that spin. Under "
        f"{thresholds.MIN_GRABS} per second contention does not matter, whatever the ratio.",
        queries=Query(f"topk(10, {GRABS})", BY_SPINLOCK),
    ),
    TimeSeries(
        title="Spins per transaction (good: falling)",
        description="Iterations of the spin loop per committed transaction: the cost of contention "
        "independent of load. Compare it before and after a change.",
        queries=figure(COMPARED["spins"]),
    ),
    Row("Other spinlocks, with the threshold of their class"),
    TimeSeries(
        title="Object and index descriptors (good: under 3 %)",
        description="Contention of the spinlocks of object, index and partition descriptors (DES, IDES, "
        "PDES). Over 3 % calls for action: lower `open object spinlock ratio` or its counterpart.",
        queries=Query(
            'topk(20, ase:spinlock_contention:ratio_rate1m{$selector,class=~".*_descriptor"})', BY_SPINLOCK
        ),
        empty=f"No spinlock of a descriptor spins {thresholds.MIN_SPINS:,} times a second",
        thresholds=thresholds.DESCRIPTORS,
        overrides=[by_pattern(".*", custom__axisSoftMax=0.06)],
    ),
    TimeSeries(
        title="Other spinlocks by class (good: under 10 %)",
        unit="percentunit",
        description="Contention (waits / grabs) of each spinlock class other than caches and descriptors. "
        "Remedies: the table below.",
        queries=Query(
            "topk(20, sum without (spinlock)"
            f" (ase:spinlock_contention:ratio_rate1m{OTHERS} * ase:spinlock_grabs:rate1m{OTHERS})"
            f" / sum without (spinlock) (ase:spinlock_grabs:rate1m{OTHERS}))",
            "{{instance}} {{class}}",
        ),
        thresholds=thresholds.CACHES,
        overrides=[by_pattern(".*", custom__axisSoftMax=0.15)],
    ),
    TimeSeries(
        title="Contention and engines (good: contention stays)",
        description="Contention of the hottest spinlock and CPU busy, with engines online on the right axis. "
        "If contention rises with the number of engines, reduce engines.",
        queries=[
            Query("max(ase:spinlock_hottest_contention:ratio_rate1m{$selector})", "hottest spinlock"),
            Query("max(ase:cpu_busy:ratio_rate1m{$selector})", "CPU busy"),
            Query('sum(ase_engines{$selector,state="online"})', "engines online"),
        ],
        thresholds=thresholds.CACHES,
        maximum=1,
        overrides=[right_axis("engines online", "none")],
    ),
    TimeSeries(
        title="Compare-and-swap waits of lockless caches (good: few)",
        description="A lockless cache takes no spinlock. Its contention shows here: failed compare-and-swap "
        "attempts as a share of all attempts. From 16.0 SP02.",
        unit="percentunit",
        queries=per(
            "ase_cache_cas_waits_total", "ase_cache_cas_grabs_total", "{{instance}} {{cache}}", top=20
        ),
        empty="No lockless cache is in use (they exist from 16.0 SP02)",
    ),
    Row("Data caches", across=3),
    Table(
        title="The caches",
        description="Size, partitions (one spinlock each), replacement strategy and contention of each "
        "cache. Strict LRU relinks buffers under the spinlock at each use: use relaxed LRU for hot caches "
        "that hold all their tables.",
        rows="max by (instance, cache, content, strategy) (ase_cache_info{$selector})",
        columns=[
            *labels(instance="Server", cache="Cache", content="Type", strategy="Replacement"),
            Column(
                title="Size", expr="max by (instance, cache) (ase_cache_size_bytes{$selector})", unit="bytes"
            ),
            Column(title="Partitions", expr="max by (instance, cache) (ase_cache_partitions{$selector})"),
            Column(
                title="Contention",
                expr="max by (instance, cache) (label_replace(ase:spinlock_contention:ratio_rate1m"
                '{$selector,class="data_cache",spinlock!~"bufspin .*"}, "cache", "$1", "spinlock", "(.*)"))',
                unit="percentunit",
                decimals=1,
                thresholds=thresholds.CACHES,
            ),
        ],
        sort=["Contention"],
    ),
    TimeSeries(
        title="Hit ratio (good: high and steady)",
        description="Share of searches that found their page in the cache. A high ratio alone says little: a "
        "loop over a small table gives 100 %, too. Compare with physical reads.",
        queries=figure(COMPARED["cache_hits"], BY_CACHE, "bottomk(20"),
        minimum=None,
        maximum=1,
    ),
    TimeSeries(
        title="Reads from disk (good: few)",
        description="Buffers read from disk into each cache. What to do: enlarge the cache, or bind tables "
        "that displace others to a cache of their own.",
        queries=Query(f"topk(20, {rate('ase_cache_physical_reads_total')})", BY_CACHE),
    ),
    TimeSeries(
        title="Stalls (good: 0)",
        description="Times that no clean buffer was available, so that a task waited for a write. What to "
        "do: a larger wash area, or a larger cache.",
        queries=Query(f"topk(20, {rate('ase_cache_stalls_total')})", BY_CACHE),
        thresholds=[(thresholds.PARAMETERS["cache"]["stalls_per_second"], "orange")],
    ),
    TimeSeries(
        title="Relinkage: buffers moved in the LRU chain",
        description="Buffers linked to an end of the LRU chain after use, by end. In a cache that holds all "
        "its tables, MRU relinking is wasted work: use relaxed LRU.",
        queries=Query(
            "topk(20, sum by (instance, cache, end) "
            "(rate(ase_cache_pool_buffers_total{$selector}[$__rate_interval])))",
            "{{instance}} {{cache}} {{end}}",
        ),
    ),
    Row("What to do"),
    Text(
        title="Remedies by spinlock",
        description="From the remedies of `ase-exporter advise`.",
        content=remedies_markdown(),
        height=22,
    ),
    common.not_collected("spinlocks|spinlock_slots|data_caches|cache_pools|engines|threads"),
]

CONTENTION = dashboard(
    uid="ase-contention",
    title="ASE contention and caches",
    description="Which spinlock costs which share of the CPU, since when, what changed then, what the data caches do,"
    " and remedies.",
    panels=PANELS,
)
