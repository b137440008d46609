"""Dashboard of the workload: statements, plans and their caches, tempdb, resources."""

from dashboards import common, thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries
from dashboards.queries import DIAGNOSED, Query, figure, per, rate

PANELS: list[Panel] = [
    Row("Statements and access paths", across=3),
    TimeSeries(
        title="Statements by operation",
        description="Data manipulation statements. A change of the mix explains a change of contention.",
        queries=Query(f"sum by (operation) ({rate('ase_statements_total')})", "{{operation}}"),
        stacked=True,
    ),
    common.TRANSACTIONS,
    TimeSeries(
        title="Pages read without an index (good: few)",
        description="Pages read by table scans as a share of all pages read. A rise: a plan lost its index.",
        unit="percentunit",
        queries=Query(
            f"{rate('ase_table_accesses_total')} / ({rate('ase_table_accesses_total')}"
            f" + {rate('ase_index_accesses_total')} > 0)",
            "{{instance}}",
        ),
        maximum=1,
    ),
    TimeSeries(
        title="Logical reads per transaction (good: steady)",
        description="Buffers read from the caches for each committed transaction: the effort per unit of "
        "work. A rise: a plan changed.",
        queries=figure(DIAGNOSED["reads_per_transaction"]),
    ),
    TimeSeries(
        title="Checkpoints, backups, memory dumps running",
        description="Checkpoints, backups of databases and dumps of the shared memory that run now; the last "
        "stop the server.",
        queries=[
            Query("ase_checkpoints_running{$selector}", "{{instance}} checkpoints"),
            Query("ase_diagnostic_dumps_running{$selector}", "{{instance}} dumps"),
            Query("sum by (instance) (ase_database_backup_in_progress{$selector})", "{{instance}} backups"),
        ],
    ),
    Row("Plans: procedure cache and statement cache", across=3),
    TimeSeries(
        title="Requests loaded from disk (good: near 0)",
        description="Share of procedure requests that loaded and compiled the procedure. Over 20 % at many "
        "loads: raise `procedure cache size`.",
        queries=figure(DIAGNOSED["procedure_loads"]),
        thresholds=[(thresholds.PARAMETERS["cache"]["procedure_loads"], "orange")],
        maximum=1,
    ),
    TimeSeries(
        title="Hit ratio of the statement cache (good: high)",
        description="Share of searches that found the statement, so that it was not compiled. Low with many "
        "inserts: use `enable literal autoparam`.",
        unit="percentunit",
        queries=per("ase_statement_cache_hits_total", "ase_statement_cache_searches_total"),
        maximum=1,
    ),
    TimeSeries(
        title="Inserts, removals, recompilations (good: few)",
        description="Statements added to and removed from the cache, and recompiled by cause. As many "
        "removals as inserts: the cache is too small.",
        queries=[
            Query(rate("ase_statement_cache_inserts_total"), "{{instance}} inserts"),
            Query(rate("ase_statement_cache_removals_total"), "{{instance}} removals"),
            Query(rate("ase_statement_cache_recompiles_total"), "{{instance}} recompiled: {{cause}}"),
        ],
    ),
    Row("tempdb", across=3),
    TimeSeries(
        title="Sessions by tempdb (good: spread evenly)",
        description="Sessions assigned to each temporary database. What to do if one has most: add tempdbs "
        "to the default group.",
        queries=Query("topk(20, ase_tempdb_sessions_assigned{$selector})", "{{instance}} {{database}}"),
    ),
    TimeSeries(
        title="Waits in tempdbs (good: under 10 %)",
        description="Share of requests that waited: locks, locks on catalogues, log semaphore, all tempdbs. "
        "What to do: more tempdbs.",
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
    ),
    Row("Configured resources"),
    TimeSeries(
        title="Resources in use (good: under 90 %)",
        description="Units in use as a share of the configured number, the ten fullest.",
        unit="percentunit",
        queries=Query(
            # All engines are usually online.
            'topk(10, ase_resource_used{$selector,resource!="max online engines"}'
            " / (ase_resource_used{$selector} + ase_resource_free{$selector} > 0))",
            "{{instance}} {{resource}}",
        ),
        thresholds=[(0.9, "orange")],
        maximum=1,
    ),
    TimeSeries(
        title="Units reused because all were in use (good: 0)",
        description="Descriptors and other units that were taken from one object for another. What to do: "
        "raise the option of that name.",
        queries=Query(f"topk(10, {rate('ase_resource_reuses_total')})", "{{instance}} {{resource}}"),
    ),
    common.not_collected("state|tempdbs|work_queues|engines|procedure_.*|statement_cache|resource_usage"),
]

WORKLOAD = dashboard(
    uid="ase-workload",
    title="ASE workload",
    description="What the server does: statements, access paths, plans and their caches, tempdb and resources.",
    panels=PANELS,
)
