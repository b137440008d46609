"""Dashboard of sessions and statements: who is active, what active sessions wait for, what costs most."""

from dashboards import common
from dashboards.common import NO_COLLECTOR, NO_MONITORING
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Stat, Table, TimeSeries
from dashboards.queries import Query, now, rows

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
        title="Active sessions, mean of an hour",
        description="The mean of all scrapes of an hour. Source: monProcess.WaitEventID.",
        unit="none",
        decimals=1,
        queries=[now("sum(avg_over_time(ase_active_sessions{$selector}[1h]))")],
        empty=NO_MONITORING,
        width=6,
    ),
    Stat(
        title="Blocked by others (good: 0)",
        description="Sessions that wait for a lock, at the last scrape. What to do: the exporter's page /sessions "
        "or ase-exporter top, names the head of each chain. Source: monProcess.WaitEventID.",
        unit="none",
        decimals=0,
        queries=[now('sum(ase_active_sessions{$selector,doing="lock"})')],
        thresholds=[(1, "orange")],
        empty=NO_MONITORING,
        width=6,
    ),
    Stat(
        title="Oldest transaction",
        description="Age of the oldest open transaction. Source: syslogshold.starttime.",
        unit="s",
        queries=[now("max(ase_database_oldest_transaction_seconds{$selector})")],
        empty=NO_COLLECTOR,
        blank="none open",
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
    common.not_collected("sessions|cached_procedures|cached_statements"),
]

SESSIONS = dashboard(
    uid="ase-sessions",
    title="ASE sessions and statements",
    description="Who is active, what active sessions wait for, and which procedures and statements cost most.",
    panels=PANELS,
)
