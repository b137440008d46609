"""Dashboard of storage and network: devices, I/O queues, space, backups, network."""

from dashboards import common, thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries
from dashboards.queries import DIAGNOSED, Query, figure
from dashboards.tables import Column, Table, labels

# Queries of databases that need somebody, with what is wrong in the label `problem`.
TROUBLES = (
    'label_replace(ase_database_state{$selector,state!="online"}, "problem", "$1", "state", "(.*)")',
    *(
        f'label_replace(ase_database_{metric}{{$selector}} > 0, "problem", "{problem}", "", "")'
        for metric, problem in (
            ("log_full", "log full"),
            ("suspended_processes", "tasks wait for log space"),
            ("backup_failed", "last dump failed"),
        )
    ),
)


def _age(
    title: str, description: str, metric: str, limit: float | None = None, empty: str = ""
) -> TimeSeries:
    """How long ago something was done in each database. limit: in seconds, from which on it is too long."""
    return TimeSeries(
        title=title,
        description=description,
        unit="s",
        queries=Query(f"topk(10, time() - {metric}{{$selector}})", "{{instance}} {{database}}"),
        thresholds=[(limit, "orange")] if limit else (),
        empty=empty,
    )


PANELS: list[Panel] = [
    Row("I/O by purpose"),
    common.time_per_io("check the devices below, then the storage system"),
    Row("Devices"),
    TimeSeries(
        title="Time per I/O of the busiest devices (good: under 30 ms)",
        description="Time per I/O of the three devices of each server with most I/Os. If one device is slow, "
        "check its path or disk; if all are, the storage system.",
        queries=Query(
            "topk(10, ase:device_top_latency:seconds_rate1m{$selector})", "{{instance}} {{device}}"
        ),
        thresholds=thresholds.LATENCY,
    ),
    TimeSeries(
        title="I/Os of the busiest devices (good: spread evenly)",
        description="I/Os per second of the three busiest devices of each server.",
        unit="iops",
        queries=Query("topk(10, ase:device_top_ios:rate1m{$selector})", "{{instance}} {{device}}"),
    ),
    Row("Space and backups"),
    TimeSeries(
        title="Data space used (good: under 90 %)",
        description="Used space of the ten fullest databases; mixed holds data and log. What to do: alter "
        "database.",
        queries=[
            figure(DIAGNOSED[f"{what}_used"], "{{instance}} {{database}}", "topk(10")
            for what in ("data", "tempdb")
        ],
        thresholds=[
            (thresholds.PARAMETERS["space"]["warning"], "orange"),
            (thresholds.PARAMETERS["space"]["critical"], "red"),
        ],
        maximum=1,
    ),
    TimeSeries(
        title="Time until full, at the pace of the last hours (good: days)",
        description="When space, connections, locks or the procedure cache will run out, the ten soonest; at "
        "most a month. A forecast from the last six hours (data) or the last hour.",
        unit="s",
        queries=Query(
            "bottomk(10, ase:full:seconds_forecast{$selector})", "{{instance}} {{resource}} {{database}}"
        ),
        thresholds=[(thresholds.PARAMETERS["space"]["forecast_data_seconds"], "orange")],
        empty="Nothing runs out within a month, or the server is not scraped for three hours yet",
    ),
    _age(
        "Age of the last full dump (good: under 36 h)",
        "Time since the start of each database's last full dump, the ten oldest.",
        "ase_database_backup_timestamp_seconds",
        thresholds.PARAMETERS["log"]["backup_age_seconds"],
        "No database was dumped since the server was started",
    ),
    _age(
        "Age of the last log dump (good: as planned)",
        "Time since the last dump of each database's log, the ten oldest. Databases with `trunc log on chkpt` have "
        "none.",
        "ase_database_log_dump_timestamp_seconds",
        empty="No log was dumped since the server was started",
    ),
    _age(
        "Age of the last checkpoint (good: minutes)",
        "Time since the last checkpoint of each database, the ten oldest. It bounds the time of a recovery.",
        "ase_database_checkpoint_timestamp_seconds",
    ),
    Table(
        title="Databases in trouble (good: empty)",
        description="Databases that cannot be used, or only in part; whose log is full or keeps tasks waiting; whose "
        "last dump failed.",
        rows=f"max by (instance, database, problem) ({' or '.join(TROUBLES)})",
        columns=labels(instance="Server", database="Database", problem="Problem"),
        empty="All databases can be used, no log is full, no dump failed",
        width=0,
        height=9,
    ),
    Table(
        title="Licences",
        description="Licences in use, with their state, and when they and their grace periods end.",
        rows="max by (instance, licence, edition, status) (ase_licence_info{$selector})",
        columns=[
            *labels(instance="Server", licence="Licence", edition="Edition", status="State"),
            *(
                Column(title=title, expr=f"max by (instance, licence, edition) ({expr})", unit=unit)
                for title, expr, unit in (
                    ("Number", "ase_licence_quantity{$selector}", ""),
                    ("Ends", "ase_licence_expiry_timestamp_seconds{$selector} * 1000", "dateTimeAsIso"),
                    ("Grace ends", "ase_licence_grace_timestamp_seconds{$selector} * 1000", "dateTimeAsIso"),
                )
            ),
        ],
    ),
    Row("Replication: does it keep up with the log?", across=3),
    TimeSeries(
        title="Messages in the sender's queue (good: few)",
        unit="short",
        description="Messages that wait to be sent to Replication Server. A queue that grows: the network or "
        "Replication Server is slow, and the log cannot be truncated.",
        queries=Query("topk(20, ase_rep_sender_queue_messages{$selector})", "{{instance}} {{database}}"),
        thresholds=[(thresholds.PARAMETERS["replication"]["queued_messages"], "orange")],
    ),
    Row("Network", across=3),
    TimeSeries(
        title="Connections (good: under 90 % of limit)",
        description="Open connections, and `number of user connections`.",
        queries=[
            Query("sum by (instance) (ase_connections{$selector})", "{{instance}} open"),
            Query(
                'sum by (instance) (ase_config_value{$selector,name="number of user connections"})',
                "{{instance}} configured",
            ),
        ],
    ),
    common.not_collected(
        "devices|io_.*|device_.*|databases|database_space|tempdbs|network|database_states|licences|rep_.*"
    ),
]

STORAGE = dashboard(
    uid="ase-storage",
    title="ASE storage, replication and network",
    description="Device latency, database space, backups, replication, and network traffic.",
    panels=PANELS,
)
