"""Dashboard of the workload: statements, plans and their caches, tempdb, log caches, workers."""

from dashboards import common, thresholds
from dashboards.common import NO_MONITORING, NO_THREADS
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query, rate

NO_TEMPDB = "Not collected (yet): the collector or enable monitoring is off, or ASE is older than 15.5"
NO_STATEMENT_CACHE = (
    "Not collected (yet): enable stmt cache monitoring or the collector is off, or before 15.0.2"
)
NO_ELC = "Not collected: engine local caches exist from 16.0 SP03 PL08"
OPT_IN = "Not collected (yet): the collector is opt-in; set it to true in the module"

PANELS: list[Panel] = [
    Row("Statements and access paths"),
    TimeSeries(
        title="Statements by operation",
        description="Data manipulation statements. A change of the mix explains a change of contention. Source: "
        "monState.Selects, Inserts, Updates, Deletes, Merges.",
        unit="count:/s",
        queries=[
            Query(f"sum by (operation) ({rate('ase_statements_total')})", "{{operation}}"),
        ],
        stacked=True,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Transactions and rollbacks (good: few rollbacks)",
        description="Transactions committed and rolled back. Source: monState.Transactions, Rollbacks.",
        unit="count:/s",
        queries=[
            Query("ase:transactions:rate1m{$selector}", "{{instance}} committed"),
            Query(rate("ase_rollbacks_total"), "{{instance}} rolled back"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Pages read without an index (good: few)",
        description="Pages read by table scans as a share of all pages read. A rise: a plan lost its index. "
        "Source: monState.TableAccesses, IndexAccesses.",
        unit="percentunit",
        queries=[
            Query(
                f"{rate('ase_table_accesses_total')} / ({rate('ase_table_accesses_total')}"
                f" + {rate('ase_index_accesses_total')} > 0)",
                "{{instance}}",
            )
        ],
        maximum=1,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Logical reads per transaction (good: steady)",
        description="Buffers read from the caches for each committed transaction: the effort per unit of work. A "
        "rise: a plan changed. Source: monState.LogicalReads, Transactions.",
        unit="short",
        queries=[
            Query(
                f"{rate('ase_logical_reads_total')} / ({rate('ase_transactions_total')} > 0)", "{{instance}}"
            )
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Buffers and pages from and to disk",
        description="Buffers written, and pages read and written; a buffer holds up to eight pages. Source: "
        "monState.PhysicalWrites, PagesRead, PagesWritten.",
        unit="count:/s",
        queries=[
            Query(rate("ase_physical_writes_total"), "{{instance}} buffers written"),
            Query(rate("ase_pages_read_total"), "{{instance}} pages read"),
            Query(rate("ase_pages_written_total"), "{{instance}} pages written"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Checkpoints, backups, memory dumps running",
        description="Checkpoints, backups of databases and dumps of the shared memory that run now; the last stop the "
        "server. Source: monState.CheckPoints, DiagnosticDumps, monOpenDatabases.BackupInProgress.",
        unit="none",
        queries=[
            Query("ase_checkpoints_running{$selector}", "{{instance}} checkpoints"),
            Query("ase_diagnostic_dumps_running{$selector}", "{{instance}} dumps"),
            Query("sum by (instance) (ase_database_backup_in_progress{$selector})", "{{instance}} backups"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    Row("Plans: procedure cache and statement cache"),
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
    Row("tempdb"),
    TimeSeries(
        title="Temporary tables and work tables",
        description="Temporary tables and work tables created. Each takes locks on catalogues of its tempdb. "
        "Source: monState.TempDbObjects, WorkTables.",
        unit="count:/s",
        queries=[
            Query(rate("ase_tempdb_objects_total"), "{{instance}} temporary tables"),
            Query(rate("ase_work_tables_total"), "{{instance}} work tables"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Sessions by tempdb (good: spread evenly)",
        description="Sessions assigned to each temporary database. What to do if one has most: add tempdbs to the "
        "default group. Source: monTempdbActivity.AssignedCnt.",
        unit="none",
        queries=[
            Query("topk(20, ase_tempdb_sessions_assigned{$selector})", "{{instance}} {{database}}"),
        ],
        empty=NO_TEMPDB,
        width=8,
    ),
    TimeSeries(
        title="Waits in tempdbs (good: under 10 %)",
        description="Share of requests that waited: locks, locks on catalogues, log semaphore, all tempdbs. "
        "What to do: more tempdbs. Source: monTempdbActivity.LockWaits, CatLockWaits, AppendLogWaits.",
        unit="percentunit",
        queries=[
            Query(
                f"sum by (instance) ({rate(f'ase_tempdb_{what}_waits_total')})"
                f" / (sum by (instance) ({rate(f'ase_tempdb_{what}_requests_total')}) > 0)",
                f"{{{{instance}}}} {legend}",
            )
            for what, legend in (("lock", "locks"), ("catalog_lock", "catalogue locks"), ("log", "log"))
        ],
        maximum=1,
        empty=NO_TEMPDB,
        width=8,
    ),
    Row("Queues, workers and configured resources"),
    TimeSeries(
        title="Work queues: requests that waited",
        description="Requests, those that had to wait, and the time that requests waited (right axis, seconds "
        "per second). Source: monWorkQueue.TotalRequests, QueuedRequests, WaitTime.",
        unit="count:/s",
        queries=[
            Query(f"sum({rate('ase_work_queue_requests_total')})", "requests"),
            Query(f"sum({rate('ase_work_queue_queued_requests_total')})", "waited"),
            Query(f"sum({rate('ase_work_queue_wait_seconds_total')})", "waiting"),
        ],
        overrides=[right_axis("waiting", "short")],
        empty=NO_THREADS,
        width=8,
    ),
    TimeSeries(
        title="Garbage collection waiting (good: near 0)",
        description="Items that wait for the housekeeper's garbage collection, by queue; more than the queue "
        "holds are lost until reorg. Source: monEngine.HkgcPendingItems, HkgcOverflows.",
        unit="short",
        queries=[
            Query("ase_engines_hkgc_pending_items{$selector}", "{{instance}} {{queue}}"),
            Query(rate("ase_engines_hkgc_overflows_total"), "{{instance}} {{queue}} lost per second"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
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
        width=24,
    ),
    common.not_collected(
        "state|tempdbs|work_queues|engines|procedure_.*|statement_cache|worker_threads|resource_usage"
    ),
]

WORKLOAD = dashboard(
    uid="ase-workload",
    title="ASE workload",
    description="What the server does: statements, access paths, plans and their caches, tempdb, queues and workers.",
    panels=PANELS,
)
