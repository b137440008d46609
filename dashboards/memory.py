"""Dashboard of memory: procedure cache, statement cache, worker threads, configured resources, memory pools."""

from dashboards import common, thresholds
from dashboards.common import NO_MONITORING
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query, rate

NO_STATEMENT_CACHE = (
    "Not collected (yet): enable stmt cache monitoring or the collector is off, or before 15.0.2"
)
NO_ELC = "Not collected: engine local caches exist from 16.0 SP03 PL08"
OPT_IN = "Not collected (yet): the collector is opt-in; set it to true in the module"

PANELS: list[Panel] = [
    Row("Procedure cache"),
    TimeSeries(
        title="Requests loaded from disk (good: near 0)",
        description="Share of procedure requests that loaded and compiled the procedure. Over 20 % at many loads: "
        "raise `procedure cache size`. Source: monProcedureCache.Loads, Requests.",
        unit="percentunit",
        queries=[
            Query(
                f"{rate('ase_procedure_cache_loads_total')}"
                f" / ({rate('ase_procedure_cache_requests_total')} > 0)",
                "{{instance}}",
            )
        ],
        thresholds=[(thresholds.PARAMETERS["cache"]["procedure_loads"], "orange")],
        maximum=1,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Loads, writes, stalls (good: no stalls)",
        description="Procedures loaded and written, and times that no space was free. Stalls: raise `procedure "
        "cache size`. Source: monProcedureCache.Loads, Writes, Stalls.",
        unit="count:/s",
        queries=[
            Query(rate("ase_procedure_cache_loads_total"), "{{instance}} loads"),
            Query(rate("ase_procedure_cache_writes_total"), "{{instance}} writes"),
            Query(rate("ase_procedure_cache_stalls_total"), "{{instance}} stalls"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Engine local caches: empty and full (good: few)",
        description="Times that an engine's local cache of procedure memory was empty or full, so that the engine "
        "took the spinlock of the global memory. What to do: raise `engine local cache percent`. Source: "
        "monProcELC.ProcELCEmpty, ProcELCFull.",
        unit="count:/s",
        queries=[
            Query(f"topk(10, {rate('ase_procedure_elc_empty_total')})", "{{instance}} elc {{elc}} empty"),
            Query(f"topk(10, {rate('ase_procedure_elc_full_total')})", "{{instance}} elc {{elc}} full"),
        ],
        empty=NO_ELC,
        width=8,
    ),
    TimeSeries(
        title="Memory by module (good: steady)",
        description="Memory of the procedure cache in use, the ten largest modules. Source: "
        "monProcedureCacheModuleUsage.Active.",
        unit="bytes",
        queries=[
            Query("topk(10, ase_procedure_cache_module_bytes{$selector})", "{{instance}} {{module}}"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Peak of memory by module",
        description="Peak since the start, the ten largest modules. A module with a peak far above its current use "
        "had a burst. Source: monProcedureCacheModuleUsage.HWM.",
        unit="bytes",
        queries=[
            Query(
                "topk(10, ase_procedure_cache_module_high_water_bytes{$selector})", "{{instance}} {{module}}"
            ),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Pages taken from other modules (good: 0)",
        description="Pages per second that a module took from others because none was free. Source: "
        "monProcedureCacheModuleUsage.NumPagesReused.",
        unit="count:/s",
        queries=[
            Query(
                f"topk(10, {rate('ase_procedure_cache_module_reused_pages_total')})",
                "{{instance}} {{module}}",
            ),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    Row("Statement cache"),
    TimeSeries(
        title="Hit ratio of the statement cache (good: high)",
        description="Share of searches that found the statement, so that it was not compiled. Low with many "
        "inserts: use `enable literal autoparam`. Source: monStatementCache.HitCount, NumSearches.",
        unit="percentunit",
        queries=[
            Query(
                f"{rate('ase_statement_cache_hits_total')}"
                f" / ({rate('ase_statement_cache_searches_total')} > 0)",
                "{{instance}}",
            )
        ],
        maximum=1,
        empty=NO_STATEMENT_CACHE,
        width=8,
    ),
    TimeSeries(
        title="Inserts, removals, recompilations (good: few)",
        description="Statements added to and removed from the cache, and recompiled by cause. As many removals as "
        "inserts: the cache is too small. Source: monStatementCache.NumInserts, NumRemovals, "
        "NumRecompiles….",
        unit="count:/s",
        queries=[
            Query(rate("ase_statement_cache_inserts_total"), "{{instance}} inserts"),
            Query(rate("ase_statement_cache_removals_total"), "{{instance}} removals"),
            Query(rate("ase_statement_cache_recompiles_total"), "{{instance}} recompiled: {{cause}}"),
        ],
        empty=NO_STATEMENT_CACHE,
        width=8,
    ),
    TimeSeries(
        title="Memory of the statement cache, statements",
        description="Share of `statement cache size` in use; right axis: cached statements. Source: "
        "monStatementCache.UsedSizeKB, TotalSizeKB, NumStatements.",
        unit="percentunit",
        queries=[
            Query(
                "sum by (instance) (ase_statement_cache_used_bytes{$selector})"
                " / (sum by (instance) (ase_statement_cache_size_bytes{$selector}) > 0)",
                "{{instance}} used",
            ),
            Query("sum(ase_statement_cache_statements{$selector})", "statements"),
        ],
        overrides=[right_axis("statements", "short")],
        maximum=1,
        empty=NO_STATEMENT_CACHE,
        width=8,
    ),
    Row("Worker threads"),
    TimeSeries(
        title="Worker threads (good: below configured)",
        description="Worker threads in use, their peak, and `number of worker processes`. Source: "
        "monSysWorkerThread.ThreadsActive, HighWater, TotalWorkerThreads.",
        unit="none",
        queries=[
            Query("ase_worker_threads_active{$selector}", "{{instance}} active"),
            Query("ase_worker_threads_high_water{$selector}", "{{instance}} peak"),
            Query("ase_worker_threads_configured{$selector}", "{{instance}} configured"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Parallel queries, plans cut (good: none cut)",
        description="Queries that ran in parallel, and plans that got fewer threads than planned: raise `number "
        "of worker processes`. Source: monSysWorkerThread.ParallelQueries, PlansAltered.",
        unit="count:/s",
        queries=[
            Query(rate("ase_parallel_queries_total"), "{{instance}} parallel"),
            Query(rate("ase_parallel_plans_altered_total"), "{{instance}} cut back"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Worker memory used (good: under 90 %)",
        description="Share of the memory set aside for workers that is in use. What to do: raise `memory per "
        "worker process`. Source: monSysWorkerThread.WorkerMemory, TotalWorkerMemory.",
        unit="percentunit",
        queries=[
            Query(
                "sum by (instance) (ase_worker_memory_bytes{$selector})"
                " / (sum by (instance) (ase_worker_memory_configured_bytes{$selector}) > 0)",
                "{{instance}}",
            )
        ],
        maximum=1,
        empty="No worker processes are configured, or the collector is off",
        width=8,
    ),
    Row("Configured resources (opt-in: resource_usage, open_descriptors)"),
    TimeSeries(
        title="Resources in use (good: under 90 %)",
        description="Units in use as a share of the configured number, the ten fullest. Source: sp_monitorconfig "
        "(collector resource_usage).",
        unit="percentunit",
        queries=[
            Query(
                "topk(10, ase_resource_used{$selector} / (ase_resource_used{$selector}"
                " + ase_resource_free{$selector} > 0))",
                "{{instance}} {{resource}}",
            )
        ],
        thresholds=[(0.9, "orange")],
        maximum=1,
        empty=OPT_IN,
        width=8,
    ),
    TimeSeries(
        title="Peak use of resources (good: under 100 %)",
        description="Peak of units in use since the start as a share of the configured number, the ten highest. "
        "Source: sp_monitorconfig (collector resource_usage).",
        unit="percentunit",
        queries=[
            Query(
                "topk(10, ase_resource_high_water{$selector} / (ase_resource_used{$selector}"
                " + ase_resource_free{$selector} > 0))",
                "{{instance}} {{resource}}",
            )
        ],
        thresholds=[(1, "red")],
        empty=OPT_IN,
        width=8,
    ),
    TimeSeries(
        title="Units reused because all were in use (good: 0)",
        description="Descriptors and other units that were taken from one object for another. What to do: raise "
        "the option of that name. Source: sp_monitorconfig (collector resource_usage).",
        unit="count:/s",
        queries=[Query(f"topk(10, {rate('ase_resource_reuses_total')})", "{{instance}} {{resource}}")],
        empty=OPT_IN,
        width=8,
    ),
    TimeSeries(
        title="Open descriptors (lower bound)",
        description="Descriptors in use by kind; compare with `number of open objects`, `indexes` and "
        "`partitions`. Source: monOpenObjectActivity (collector open_descriptors).",
        unit="none",
        queries=[Query("ase_open_descriptors{$selector}", "{{instance}} {{descriptor}}")],
        empty=OPT_IN,
        width=24,
    ),
    common.not_collected("procedure_.*|statement_cache|worker_threads|resource_usage|open_descriptors"),
]

MEMORY = dashboard(
    uid="ase-memory",
    title="ASE memory and plans",
    description="Procedure cache, statement cache, worker threads and configured resources.",
    panels=PANELS,
)
