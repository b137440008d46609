"""Dashboard of waits and sessions: events, who is active, locks and blocking, the log, what costs most."""

from dashboards import common, thresholds
from dashboards.common import NO_COLLECTOR, NO_MONITORING, NO_WAITS
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Stat, Table, TimeSeries
from dashboards.queries import Query, now, rows

PARAMETERS = thresholds.PARAMETERS

_NO_STATEMENTS = (
    "Not collected (yet): the collector cached_statements is off, or enable stmt cache monitoring is"
)
_NO_PROCEDURES = (
    "Not collected (yet): the collector cached_procedures is off, or statement statistics active is"
)

PANELS: list[Panel] = [
    Stat(
        title="Active sessions now",
        description="Sessions that run or wait for anything but their client, at the last scrape. What to do: compare "
        "them with the engines; more of them wait. Source: monProcess.WaitEventID.",
        unit="none",
        decimals=0,
        queries=[now("sum(ase_active_sessions{$selector})")],
        empty=NO_MONITORING,
        width=6,
    ),
    Stat(
        title="Blocked processes (good: 0)",
        description="Processes that are blocked by another now. What to do: the panel Blockers names "
        "the head of the chain. Source: sysprocesses.blocked.",
        unit="none",
        queries=[now("sum(ase_processes_blocked{$selector})")],
        thresholds=thresholds.BLOCKED,
        empty=NO_COLLECTOR,
        width=6,
    ),
    Stat(
        title="Longest block (good: none)",
        description="Time that the longest blocked process has waited. Source: sysprocesses.time_blocked.",
        unit="s",
        queries=[now("max(ase_process_longest_block_seconds{$selector})")],
        thresholds=[(60, "orange"), (300, "red")],
        empty=NO_COLLECTOR,
        width=6,
    ),
    Stat(
        title="Deadlocks in an hour (good: 0)",
        description="Deadlocks in the last hour. What to do: set `print deadlock information`. Source: "
        "monState.Deadlocks.",
        unit="none",
        decimals=0,
        queries=[now("sum(increase(ase_deadlocks_total{$selector}[1h]))")],
        thresholds=[(1, "orange")],
        empty=NO_MONITORING,
        width=6,
    ),
    Row("Sessions"),
    TimeSeries(
        title="Active sessions by what they do (good: mostly cpu)",
        description="Average number of active sessions by what they do: run, or wait for a lock, the log, a "
        "disk, an engine. Its sum is about that of the time account. Source: monProcess.WaitEventID.",
        unit="short",
        queries=[
            Query(
                "sum by (doing) (avg_over_time(ase_active_sessions{$selector}[$__rate_interval]))",
                "{{doing}}",
            )
        ],
        stacked=True,
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Active sessions by program and database",
        description="Average number of active sessions of the most active programs; rest is the sum of all others. "
        "What to do: look at the statements of the one that grew. Source: monProcess.Application, DBName.",
        unit="short",
        queries=[
            Query(
                "topk(20, avg by (instance, program, database)"
                " (avg_over_time(ase_program_active_sessions{$selector}[$__rate_interval])))",
                "{{instance}} {{program}} {{database}}",
            )
        ],
        stacked=True,
        empty=NO_MONITORING,
    ),
    Row("Waits"),
    TimeSeries(
        title="Waiting tasks by event, the ten largest (good: few)",
        description="Average number of waiting tasks by event (seconds waited per second), without clients and "
        "timers. Source: monSysWaits.WaitTime.",
        unit="short",
        queries=[Query("topk(10, ase:wait_top_seconds:rate1m{$selector})", "{{instance}} {{event}}")],
        empty=NO_WAITS,
    ),
    TimeSeries(
        title="Waiting tasks by event class (good: few)",
        description="Average number of waiting tasks by event class, without clients and timers. Waits for "
        "scheduling: too few engines, or engines that spin. Source: monSysWaits, monWaitClassInfo.",
        unit="short",
        queries=[
            Query(
                "topk(20, ase:wait_class_seconds:rate1m"
                '{$selector,class!~"waiting for internal system event|waiting for input from the network"})',
                "{{instance}} {{class}}",
            )
        ],
        empty=NO_WAITS,
    ),
    TimeSeries(
        title="Tasks by operation: execute, compile, sort, device wait",
        description="Average number of tasks by operation (seconds per second). Much compilation: use the "
        "statement cache and literal parametrization. Source: monSysExecutionTime.",
        unit="short",
        queries=[
            Query(
                "topk(20, rate(ase_operation_seconds_total{$selector}[$__rate_interval]))",
                "{{instance}} {{operation}}",
            )
        ],
        stacked=True,
        empty="Not collected (yet): the collector or execution time monitoring (15.7 SP100) is off",
    ),
    TimeSeries(
        title="Processes by state (good: few in lock sleep)",
        description="Processes by state. Runnable processes wait for an engine, those in lock sleep for each "
        "other. Source: sysprocesses.status.",
        unit="none",
        queries=[Query("sum by (state) (ase_processes{$selector})", "{{state}}")],
        stacked=True,
        empty=NO_COLLECTOR,
    ),
    Row("Locks"),
    TimeSeries(
        title="Blockers: time that they keep others waiting (good: nobody)",
        description="Processes that block others and do not wait themselves, or block in the middle of a chain: their "
        "login and program, and the seconds that those behind them have waited, in sum. Source: sysprocesses.blocked, "
        "time_blocked.",
        unit="s",
        queries=[
            Query(
                "topk(10, sum by (instance, blocked_by, blocker_login, blocker_application, blocker_state)"
                " (ase_blocked_process_seconds{$selector}))",
                "{{instance}} spid {{blocked_by}} {{blocker_login}} {{blocker_application}} {{blocker_state}}",
            )
        ],
        empty="Nobody is blocked, or the collector blocking is off",
        width=24,
    ),
    TimeSeries(
        title="Lock waits over the threshold (good: 0)",
        description="Processes that wait for a lock longer than `lock wait threshold`; AseBlocking fires on it. "
        "Source: monState.LockWaits.",
        unit="none",
        queries=[Query("ase_lock_waits_over_threshold{$selector}", "{{instance}}")],
        thresholds=thresholds.BLOCKED,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Share of locks in use (good: < 80 %)",
        description="Locks held as a share of `number of locks`. At 100 %, statements fail with error 1204. "
        "Sources: monLocks, syscurconfigs.",
        unit="percentunit",
        queries=[
            Query(
                "sum by (instance) (ase_locks{$selector})"
                ' / sum by (instance) (ase_config_value{$selector,name="number of locks"})',
                "{{instance}}",
            )
        ],
        thresholds=[(PARAMETERS["locks"]["used"], "orange")],
        maximum=1,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Longest lock wait by database (good: short)",
        description="The longest current wait for a lock in each database. Source: monLocks.WaitTime.",
        unit="s",
        queries=[Query("topk(10, ase_lock_longest_wait_seconds{$selector})", "{{instance}} {{database}}")],
        empty="No task waits for a lock",
        width=8,
    ),
    TimeSeries(
        title="Oldest transaction by database (good: short)",
        description="Age of the oldest open transaction of each database, which prevents truncation of its log. "
        "Source: syslogshold.starttime.",
        unit="s",
        queries=[
            Query("topk(10, ase_database_oldest_transaction_seconds{$selector})", "{{instance}} {{database}}")
        ],
        thresholds=[(PARAMETERS["locks"]["transaction_seconds"], "orange")],
        empty="No open transaction",
        width=24,
    ),
    Row("The log"),
    TimeSeries(
        title="Log semaphore: waits (good: under 50 %)",
        description="Share of log semaphore requests that had to wait, by database. What to do: larger user log "
        "caches, faster log devices, a log cache. Source: monOpenDatabases.AppendLogWaits, "
        "AppendLogRequests.",
        unit="percentunit",
        queries=[
            Query(
                "topk(10, rate(ase_database_log_waits_total{$selector}[$__rate_interval])"
                " / (rate(ase_database_log_requests_total{$selector}[$__rate_interval]) > 0))",
                "{{instance}} {{database}}",
            )
        ],
        thresholds=[(PARAMETERS["log"]["semaphore_waits"], "orange")],
        maximum=1,
        empty=NO_MONITORING,
        width=8,
    ),
    common.log_space_used(),
    TimeSeries(
        title="ULC flushes because full (good: few)",
        description="Share of user log cache flushes that happened because the cache was full. What to do: raise "
        "`user log cache size`. Source: monState.ULCFlushFull, ULCFlushes.",
        unit="percentunit",
        queries=[
            Query(
                "rate(ase_ulc_flushes_full_total{$selector}[$__rate_interval])"
                " / (rate(ase_ulc_flushes_total{$selector}[$__rate_interval]) > 0)",
                "{{instance}}",
            )
        ],
        maximum=1,
        empty="Not collected (yet): the collector is off, or this version has no monState.ULCFlushes",
        width=8,
    ),
    Row("Statements"),
    Table(
        title="Procedures by elapsed time in the last hour",
        description="Cached procedures whose executions took most time. The exporter's page /sessions shows what one "
        "execution reads, and whether that has grown. Source: monCachedProcedures.ExecutionTime.",
        queries=[
            rows(
                "topk(20, sum by (instance, procedure, database)"
                " (increase(ase_procedure_seconds_total{$selector}[1h])))"
            )
        ],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="database", title="Database"),
            Column(name="procedure", title="Procedure"),
            Column(name="Value", title="Elapsed", unit="s"),
        ],
        sort=["Elapsed"],
        empty=_NO_PROCEDURES,
        width=12,
    ),
    Table(
        title="Cached statements by logical reads in the last hour",
        description="Statements of the cache by their number, without text. Source: monCachedStatement.TotalLIO.",
        queries=[
            rows(
                "topk(20, sum by (instance, statement, database)"
                " (increase(ase_statement_logical_reads_total{$selector}[1h])))"
            )
        ],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="database", title="Database"),
            Column(name="statement", title="Statement"),
            Column(name="Value", title="Logical reads"),
        ],
        sort=["Logical reads"],
        empty=_NO_STATEMENTS,
        width=12,
    ),
    common.not_collected(
        "sessions|cached_procedures|cached_statements|waits|execution_time|locks|processes|databases|database_space"
        "|oldest_transactions|state"
    ),
]

WAITS = dashboard(
    uid="ase-waits",
    title="ASE waits and sessions",
    description="What tasks wait for, who is active and who blocks whom, the state of the log, and what costs most.",
    panels=PANELS,
)
