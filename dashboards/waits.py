"""Dashboard of waits: events, locks, blocking, log."""

from dashboards import common, thresholds
from dashboards.common import NO_COLLECTOR, NO_MONITORING, NO_WAITS
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, TimeSeries
from dashboards.queries import Query, now

PARAMETERS = thresholds.PARAMETERS

PANELS: list[Panel] = [
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
    Stat(
        title="Oldest transaction",
        description="Age of the oldest open transaction, which holds locks and prevents truncation of the log. "
        "Source: syslogshold.starttime.",
        unit="s",
        queries=[now("max(ase_database_oldest_transaction_seconds{$selector})")],
        thresholds=[(PARAMETERS["locks"]["transaction_seconds"], "orange")],
        empty="No transaction is open",
        blank="none open",
        width=6,
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
        title="Locks by kind and state (good: none requested)",
        description="Locks held (Granted) and waited for (Requested). Source: monLocks.",
        unit="none",
        queries=[Query("topk(20, sum by (lock, state) (ase_locks{$selector}))", "{{lock}} {{state}}")],
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
        title="Deadlocks per second (good: 0)",
        description="Deadlocks per second; each rolls back a transaction. Source: monState.Deadlocks.",
        unit="count:/s",
        queries=[Query("rate(ase_deadlocks_total{$selector}[$__rate_interval])", "{{instance}}")],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Rollbacks per second (good: few)",
        description="Transactions rolled back. Source: monState.Rollbacks.",
        unit="count:/s",
        queries=[Query("rate(ase_rollbacks_total{$selector}[$__rate_interval])", "{{instance}}")],
        empty="Not collected (yet): the collector is off, or this version has no monState.Rollbacks",
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
    common.not_collected(
        "waits|execution_time|locks|processes|databases|database_space|oldest_transactions|state"
    ),
]

WAITS = dashboard(
    uid="ase-waits",
    title="ASE waits, locks and log",
    description="What tasks wait for, which processes are blocked, and the state of the log.",
    panels=PANELS,
)
