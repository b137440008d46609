"""Dashboard of data caches: hits, reads, stalls, contention, relinkage, partitions, pools."""

from dashboards import common, thresholds
from dashboards.common import NO_MONITORING
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Table, TimeSeries
from dashboards.queries import Query, rate, rows

BY_CACHE = "{{instance}} {{cache}}"


PANELS: list[Panel] = [
    Table(
        title="The caches",
        description="Size, partitions (one spinlock each), replacement strategy and contention of each cache. "
        "Strict LRU relinks buffers under the spinlock at each use: use relaxed LRU for hot caches "
        "that hold all their tables. Sources: monDataCache, syscacheinfo.",
        queries=[
            rows("max by (instance, cache, content, strategy) (ase_cache_info{$selector})"),
            rows("max by (instance, cache) (ase_cache_size_bytes{$selector})"),
            rows("max by (instance, cache) (ase_cache_partitions{$selector})"),
            rows(
                "max by (instance, cache) (label_replace(ase:spinlock_contention:ratio_rate1m"
                '{$selector,class="data_cache",spinlock!~"bufspin .*"}, "cache", "$1", "spinlock", "(.*)"))'
            ),
        ],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="cache", title="Cache"),
            Column(name="content", title="Type"),
            Column(name="strategy", title="Replacement"),
            Column(name="Value #B", title="Size", unit="bytes"),
            Column(name="Value #C", title="Partitions"),
            Column(
                name="Value #D",
                title="Contention",
                unit="percentunit",
                decimals=1,
                thresholds=thresholds.CACHES,
            ),
        ],
        sort=["Contention"],
        empty=NO_MONITORING,
    ),
    Row("Hits and reads"),
    TimeSeries(
        title="Hit ratio (good: high and steady)",
        description="Share of searches that found their page in the cache. A high ratio alone says little: a "
        "loop over a small table gives 100 %, too. Compare with physical reads. Source: "
        "monDataCache.CacheSearches, PhysicalReads.",
        unit="percentunit",
        queries=[
            Query(
                f"bottomk(20, 1 - {rate('ase_cache_physical_reads_total')}"
                f" / ({rate('ase_cache_searches_total')} > 0))",
                BY_CACHE,
            )
        ],
        minimum=None,
        maximum=1,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Searches (good: few per transaction)",
        description="Searches of each cache. Each takes its spinlock, unless the cache is lockless, so tuning "
        "the statements with most searches also reduces contention. Source: "
        "monDataCache.CacheSearches.",
        unit="count:/s",
        queries=[Query(f"topk(20, {rate('ase_cache_searches_total')})", BY_CACHE)],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Reads from disk (good: few)",
        description="Buffers read from disk into each cache. What to do: enlarge the cache, or bind tables that "
        "displace others to a cache of their own. Source: monDataCache.PhysicalReads.",
        unit="count:/s",
        queries=[Query(f"topk(20, {rate('ase_cache_physical_reads_total')})", BY_CACHE)],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Writes to disk",
        description="Buffers written from each cache by checkpoints, the housekeeper and the wash marker. "
        "Source: monDataCache.PhysicalWrites.",
        unit="count:/s",
        queries=[Query(f"topk(20, {rate('ase_cache_physical_writes_total')})", BY_CACHE)],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Stalls (good: 0)",
        description="Times that no clean buffer was available, so that a task waited for a write. What to do: a "
        "larger wash area, or a larger cache. Source: monDataCache.Stalls.",
        unit="count:/s",
        queries=[Query(f"topk(20, {rate('ase_cache_stalls_total')})", BY_CACHE)],
        thresholds=[(thresholds.PARAMETERS["cache"]["stalls_per_second"], "orange")],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Read ahead (good: large scans only)",
        description="Buffers read by asynchronous prefetch (APF). Source: monDataCache.APFReads.",
        unit="count:/s",
        queries=[Query(f"topk(20, {rate('ase_cache_apf_reads_total')})", BY_CACHE)],
        empty=NO_MONITORING,
        width=8,
    ),
    Row("Contention: spinlocks, relinkage, partitions"),
    common.cache_contention(),
    TimeSeries(
        title="Contention of lockless caches (good: near 0)",
        description="Failed compare-and-swap attempts as a share of all attempts: the contention of a lockless "
        "cache. From 16.0 SP02. Source: monDataCache.CASWaits, CASGrabs.",
        unit="percentunit",
        queries=[
            Query(
                f"topk(20, {rate('ase_cache_cas_waits_total')} / ({rate('ase_cache_cas_grabs_total')} > 0))",
                BY_CACHE,
            )
        ],
        empty="No lockless cache is in use (they exist from 16.0 SP02)",
    ),
    TimeSeries(
        title="Grabs per search (good: 1; more is relinkage)",
        description="Spinlock grabs per search. Near 1, only searches take the spinlock. More means that buffers "
        "are relinked in the LRU chain at each use: use relaxed LRU. Sources: "
        "monSpinlockActivity.Grabs, monDataCache.CacheSearches.",
        unit="short",
        queries=[
            Query(
                "topk(20, sum by (job, instance, cache) "
                '(label_replace(ase:spinlock_grabs:rate1m{$selector,class="data_cache"},'
                ' "cache", "$1", "spinlock", "(.*)"))'
                f" / on (job, instance, cache) ({rate('ase_cache_searches_total')} > 0))",
                BY_CACHE,
            )
        ],
        empty=common.NO_SPINLOCKS,
        width=8,
    ),
    TimeSeries(
        title="Relinkage: buffers moved in the LRU chain",
        description="Buffers linked to an end of the LRU chain after use, by end. In a cache that holds all its "
        "tables, MRU relinking is wasted work: use relaxed LRU. Source: monCachePool.BuffersToMRU, "
        "BuffersToLRU.",
        unit="count:/s",
        queries=[
            Query(
                "topk(20, sum by (instance, cache, end) "
                "(rate(ase_cache_pool_buffers_total{$selector}[$__rate_interval])))",
                "{{instance}} {{cache}} {{end}}",
            )
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Partitions (good: a power of two, up to 64)",
        description="Partitions of each cache, one spinlock each: doubling them roughly halves contention. A "
        "change takes effect at the next start. Source: monDataCache.CachePartitions.",
        unit="none",
        queries=[Query("topk(20, ase_cache_partitions{$selector})", BY_CACHE)],
        empty=NO_MONITORING,
        width=8,
    ),
    Row("Pools"),
    TimeSeries(
        title="Touched pages of pools (good: up to the pool size)",
        description="Pages of each pool used since the start. If they stay far below the pool's size after days "
        "of work, the memory is better used elsewhere. Source: monCachePool.PagesTouched.",
        unit="short",
        queries=[
            Query(
                "topk(20, ase_cache_pool_pages_touched{$selector})", "{{instance}} {{cache}}, {{io_size}} B"
            )
        ],
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Size of pools",
        description="Memory of each pool by its I/O size. Source: monCachePool.AllocatedKB.",
        unit="bytes",
        queries=[
            Query("topk(20, ase_cache_pool_size_bytes{$selector})", "{{instance}} {{cache}}, {{io_size}} B")
        ],
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Reads from disk by pool (good: large ones in the large pool)",
        description="Buffers read from disk into each pool. Large reads into the smallest pool: prefetch finds no "
        "large buffers. Source: monCachePool.PhysicalReads.",
        unit="count:/s",
        queries=[
            Query(
                f"topk(20, {rate('ase_cache_pool_physical_reads_total')})",
                "{{instance}} {{cache}}, {{io_size}} B",
            )
        ],
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Stalls by pool (good: 0)",
        description="Times that a pool had no clean buffer. What to do: enlarge its wash area, or the pool. "
        "Source: monCachePool.Stalls.",
        unit="count:/s",
        queries=[
            Query(f"topk(20, {rate('ase_cache_pool_stalls_total')})", "{{instance}} {{cache}}, {{io_size}} B")
        ],
        empty=NO_MONITORING,
    ),
    common.not_collected("data_caches|cache_pools|cached_objects|spinlocks"),
]

CACHES = dashboard(
    uid="ase-caches",
    title="ASE data caches",
    description="Hits, reads, relinkage, partitions, pools and contention of data caches.",
    panels=PANELS,
)
