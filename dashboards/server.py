"""Dashboard of one server at a glance, from its state to its memory."""

from dashboards import common, thresholds
from dashboards.common import NO_COLLECTOR, NO_MONITORING, NO_WAITS
from dashboards.contention import HEADLINES
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Table, TimeSeries, right_axis
from dashboards.queries import Query, rows

PANELS: list[Panel] = [
    *HEADLINES,
    Row("Where the time goes"),
    *common.time_account(),
    Row("Working or spinning? (orange marks are changes)"),
    common.cpu_busy(),
    common.throughput_per_cpu(),
    common.cache_contention(),
    common.spinning_cpu(),
    common.latest_changes(height=7),
    Row("Work and waits"),
    TimeSeries(
        title="Transactions (good: steady)",
        description="Committed transactions. Compare with throughput per CPU unit: fewer transactions at night "
        "are normal, the same number for more CPU is a problem. Source: monState.Transactions.",
        unit="count:/s",
        queries=[Query("ase:transactions:rate1m{$selector}", "{{instance}}")],
        empty=NO_MONITORING,
        width=6,
    ),
    TimeSeries(
        title="Waiting tasks by event (good: few)",
        description="Average number of waiting tasks by event (seconds waited per second), the ten largest, "
        "without clients and timers. What to do: Waits, locks and log. Source: monSysWaits.WaitTime.",
        unit="short",
        queries=[Query("topk(10, ase:wait_top_seconds:rate1m{$selector})", "{{instance}} {{event}}")],
        empty=NO_WAITS,
        width=12,
    ),
    TimeSeries(
        title="Blocked processes (good: 0)",
        description="Processes blocked by another; right axis: longest wait. What to do: Waits, locks and log. "
        "Source: sysprocesses.blocked, time_blocked.",
        unit="none",
        queries=[
            Query("sum(ase_processes_blocked{$selector})", "blocked"),
            Query("max(ase_process_longest_block_seconds{$selector})", "longest"),
        ],
        thresholds=thresholds.BLOCKED,
        overrides=[right_axis("longest", "s")],
        empty=NO_COLLECTOR,
        width=6,
    ),
    common.time_per_io("Storage and network"),
    common.log_space_used(),
    TimeSeries(
        title="Logical and max memory (good: headroom)",
        description="Memory that the configuration requires (`total logical memory`), and its limit (`max "
        "memory`). Without headroom the next change of an option may fail. Source: syscurconfigs.",
        unit="bytes",
        queries=[
            Query(
                '2048 * sum by (instance) (ase_config_value{$selector,name="total logical memory"})',
                "{{instance}} total logical",
            ),
            Query(
                '2048 * sum by (instance) (ase_config_value{$selector,name="max memory"})', "{{instance}} max"
            ),
        ],
        empty=NO_COLLECTOR,
        width=8,
    ),
    TimeSeries(
        title="Time since the start (good: steadily rising)",
        description="Time since the server was started. Source: monState.StartDate.",
        unit="s",
        queries=[Query("time() - ase_start_timestamp_seconds{$selector}", "{{instance}}")],
        empty=NO_COLLECTOR,
    ),
    TimeSeries(
        title="Messages of the error log by severity (good: none over 16)",
        description="Messages per hour by severity, the ten most frequent. Source: monErrorLog.",
        unit="none",
        queries=[
            Query(
                "topk(10, sum by (instance, severity) (increase(ase_error_log_messages_total{$selector}[1h])))",
                "{{instance}} severity {{severity}}",
            )
        ],
        empty="No message since the exporter was started, or the collector is off",
    ),
    TimeSeries(
        title="Locked logins, and failed ones in an hour (good: as usual)",
        description="Logins that are locked, and messages 4002 of the error log in an hour. Source: "
        "syslogins.status, monErrorLog.",
        unit="none",
        queries=[
            Query("ase_logins_locked{$selector}", "{{instance}} locked"),
            Query(
                'sum by (instance) (increase(ase_error_log_messages_total{$selector,error="4002"}[1h]))',
                "{{instance}} failed in an hour",
            ),
        ],
        empty=NO_COLLECTOR,
    ),
    Table(
        title="Links between instances of a cluster (good: Up)",
        description="State by traffic and, while that leaves it in doubt, by active monitoring. Source: "
        "monCIPCLinks.",
        queries=[rows("ase_cluster_link_state{$selector}")],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="local", title="From"),
            Column(name="remote", title="To"),
            Column(name="state", title="By traffic"),
            Column(name="active_state", title="By active monitoring"),
        ],
        empty="Not collected: only Cluster Edition has them",
        width=12,
        height=9,
    ),
    common.not_collected(),
]

SERVER = dashboard(
    uid="ase-server",
    title="ASE server",
    description="One server at a glance: whether it works or spins, since when, and what changed then.",
    panels=PANELS,
)
