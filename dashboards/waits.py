"""Dashboard of waits and sessions: events, who is active, locks and blocking, the log, what costs most."""

from dashboards import common, thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, TimeSeries
from dashboards.queries import DIAGNOSED, Query, figure, now, per
from dashboards.tables import Column, Table, labels

PARAMETERS = thresholds.PARAMETERS


def _most(label: str, title: str, metric: str, unit: str = "") -> list[Column]:
    """Columns of what a counter has grown by within an hour."""
    expr = f"topk(20, sum by (instance, {label}, database) (increase({metric}{{$selector}}[1h])))"
    names = {"instance": "Server", "database": "Database", label: label.capitalize()}
    return [*labels(**names), Column(title=title, expr=expr, unit=unit)]


PANELS: list[Panel] = [
    Stat(
        title="Active sessions now",
        description="Sessions that run or wait for anything but their client, at the last scrape. What to "
        "do: compare them with the engines; more of them wait.",
        decimals=0,
        base="text",
        queries=now("sum(ase_active_sessions{$selector})"),
        width=6,
    ),
    Stat(
        title="Blocked processes (good: 0)",
        description="Processes that are blocked by another now. What to do: the panel Blockers names the "
        "head of the chain.",
        queries=now("sum(ase_processes_blocked{$selector})"),
        thresholds=thresholds.BLOCKED,
        width=6,
    ),
    Stat(
        title="Longest block (good: none)",
        description="Time that the longest blocked process has waited.",
        unit="s",
        queries=now("max(ase_process_longest_block_seconds{$selector})"),
        thresholds=[(60, "orange"), (300, "red")],
        width=6,
    ),
    Stat(
        title="Deadlocks in an hour (good: 0)",
        description="Deadlocks in the last hour. What to do: set `print deadlock information`.",
        decimals=0,
        queries=now("sum(increase(ase_deadlocks_total{$selector}[1h]))"),
        thresholds=[(1, "orange")],
        width=6,
    ),
    Row("Sessions"),
    TimeSeries(
        title="Active sessions by what they do (good: mostly cpu)",
        unit="short",
        description="Average number of active sessions by what they do: run, or wait for a lock, the log, a "
        "disk, an engine. Its sum is about that of the time account.",
        queries=Query(
            "sum by (doing) (avg_over_time(ase_active_sessions{$selector}[$__rate_interval]))", "{{doing}}"
        ),
        stacked=True,
        overrides=common.PARTS,
        legend="right",
    ),
    TimeSeries(
        title="Active sessions by program and database",
        unit="short",
        description="Average number of active sessions of the most active programs; rest is the sum of all "
        "others. What to do: look at the statements of the one that grew.",
        queries=Query(
            "topk(20, avg by (instance, program, database)"
            " (avg_over_time(ase_program_active_sessions{$selector}[$__rate_interval])))",
            "{{instance}} {{program}} {{database}}",
        ),
        stacked=True,
    ),
    Row("Waits"),
    common.WAITING,
    TimeSeries(
        title="Waiting tasks by event class (good: few)",
        description="The same by event class. Waits for scheduling: too few engines, or engines that spin.",
        queries=Query(f"topk(20, sum by (job, instance, class) ({common.WAITS}))", "{{instance}} {{class}}"),
    ),
    TimeSeries(
        title="Tasks by operation (good: mostly execute)",
        description="Average number of tasks that execute, compile, sort or wait for a device (seconds per second). "
        "Much compilation: use the statement cache and literal parametrization.",
        queries=Query(
            "topk(20, rate(ase_operation_seconds_total{$selector}[$__rate_interval]))",
            "{{instance}} {{operation}}",
        ),
        stacked=True,
    ),
    Row("Locks"),
    TimeSeries(
        title="Blockers: time that they keep others waiting (good: nobody)",
        description="Processes that block others and do not wait themselves, or block in the middle of a "
        "chain: their login and program, and the seconds that those behind them have waited, in sum.",
        queries=Query(
            "topk(10, sum by (instance, blocked_by, blocker_login, blocker_application, blocker_state)"
            " (ase_blocked_process_seconds{$selector}) > 0)",
            "{{instance}} spid {{blocked_by}} {{blocker_login}} {{blocker_application}} {{blocker_state}}",
        ),
        empty="Nobody is blocked, or the collector blocking is off",
    ),
    TimeSeries(
        title="Lock waits over the threshold (good: 0)",
        description="Processes that wait for a lock longer than `lock wait threshold`; AseBlocking fires on "
        "it.",
        queries=Query("ase_lock_waits_over_threshold{$selector}"),
        thresholds=thresholds.BLOCKED,
    ),
    TimeSeries(
        title="Share of locks in use (good: < 80 %)",
        description="Locks held as a share of `number of locks`. At 100 %, statements fail with error 1204.",
        queries=figure(DIAGNOSED["locks_used"]),
        thresholds=[(PARAMETERS["locks"]["used"], "orange")],
        maximum=1,
    ),
    TimeSeries(
        title="Oldest transaction by database (good: short)",
        description="Age of the oldest open transaction of each database, which prevents truncation of its "
        "log.",
        queries=figure(DIAGNOSED["oldest_transaction"], "{{instance}} {{database}}", "topk(10"),
        thresholds=[(PARAMETERS["locks"]["transaction_seconds"], "orange")],
        empty="No open transaction",
    ),
    Row("The log", across=3),
    TimeSeries(
        title="Log semaphore: waits (good: under 50 %)",
        description="Share of log semaphore requests that had to wait, by database. What to do: larger user "
        "log caches, faster log devices, a log cache.",
        queries=figure(DIAGNOSED["log_semaphore"], "{{instance}} {{database}}", "topk(10"),
        thresholds=[(PARAMETERS["log"]["semaphore_waits"], "orange")],
        maximum=1,
    ),
    common.LOG_SPACE_USED,
    TimeSeries(
        title="ULC flushes because full (good: few)",
        description="Share of user log cache flushes that happened because the cache was full. What to do: "
        "raise `user log cache size`.",
        unit="percentunit",
        queries=per("ase_ulc_flushes_full_total", "ase_ulc_flushes_total"),
        maximum=1,
    ),
    Row("Statements"),
    Table(
        title="Procedures by elapsed time in the last hour",
        description="Cached procedures whose executions took most time. The exporter's page /sessions shows "
        "what one execution reads, and whether that has grown.",
        columns=_most("procedure", "Elapsed", "ase_procedure_seconds_total", "s"),
        sort=["Elapsed"],
        width=12,
    ),
    Table(
        title="Cached statements by logical reads in the last hour",
        description="Statements of the cache by their number, without text.",
        columns=_most("statement", "Logical reads", "ase_statement_logical_reads_total"),
        sort=["Logical reads"],
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
