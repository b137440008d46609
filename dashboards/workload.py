"""Dashboard of the workload: statements, access paths, user log caches, tempdb, queues of the threaded kernel."""

from dashboards import common
from dashboards.common import NO_MONITORING, NO_THREADS
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query, rate

NO_TEMPDB = "Not collected (yet): the collector or enable monitoring is off, or ASE is older than 15.5"

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
        title="Plans compiled to native code (SNAP)",
        description="Plans compiled to native code, and their executions. From 16.0 SP02, with `enable "
        "compiled queries`. Source: monState.SnapsGenerated, SnapsExecuted.",
        unit="count:/s",
        queries=[
            Query(rate("ase_snap_plans_generated_total"), "{{instance}} compiled"),
            Query(rate("ase_snap_plans_executed_total"), "{{instance}} executed"),
        ],
        empty="Not collected: these counters exist from 16.0 SP02",
        width=8,
    ),
    Row("Log and checkpoints"),
    TimeSeries(
        title="Bytes written to user log caches",
        description="Log records that sessions wrote to their user log caches. Source: monState.ULCKBWritten.",
        unit="Bps",
        queries=[Query(rate("ase_ulc_written_bytes_total"), "{{instance}}")],
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Checkpoints, backups and shared memory dumps running",
        description="Checkpoints, backups of databases and dumps of the shared memory that run now; the last stop the "
        "server. Source: monState.CheckPoints, DiagnosticDumps, monOpenDatabases.BackupInProgress.",
        unit="none",
        queries=[
            Query("ase_checkpoints_running{$selector}", "{{instance}} checkpoints"),
            Query("ase_diagnostic_dumps_running{$selector}", "{{instance}} dumps"),
            Query("sum by (instance) (ase_database_backup_in_progress{$selector})", "{{instance}} backups"),
        ],
        empty=NO_MONITORING,
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
    TimeSeries(
        title="Pages of tempdbs from and to disk (good: few)",
        description="Pages that each temporary database read from and wrote to disk. What to do: a named cache "
        "for tempdb. Source: monTempdbActivity.PagesRead, PagesWritten.",
        unit="count:/s",
        queries=[
            Query(f"topk(10, {rate('ase_tempdb_pages_read_total')})", "{{instance}} {{database}} read"),
            Query(f"topk(10, {rate('ase_tempdb_pages_written_total')})", "{{instance}} {{database}} written"),
        ],
        empty=NO_TEMPDB,
    ),
    TimeSeries(
        title="Logical reads of tempdbs",
        description="Buffers of each temporary database read from cache. Source: "
        "monTempdbActivity.LogicalReads.",
        unit="count:/s",
        queries=[
            Query(f"topk(20, {rate('ase_tempdb_logical_reads_total')})", "{{instance}} {{database}}"),
        ],
        empty=NO_TEMPDB,
    ),
    Row("Queues and load"),
    TimeSeries(
        title="Work queues: waiting requests (good: 0)",
        description="Requests that wait for a thread of the run-to-completion pool, by queue. Source: "
        "monWorkQueue.CurrentLength.",
        unit="none",
        queries=[Query("topk(20, ase_work_queue_length{$selector})", "{{instance}} {{queue}}")],
        empty=NO_THREADS,
        width=8,
    ),
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
    common.not_collected("state|tempdbs|work_queues|engines"),
]

WORKLOAD = dashboard(
    uid="ase-workload",
    title="ASE workload",
    description="What the server does: statements, access paths, log caches, tempdb, queues.",
    panels=PANELS,
)
