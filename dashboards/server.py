"""Dashboard of one server at a glance, from its state to its engines and its memory."""

from dashboards import common, thresholds
from dashboards.contention import HEADLINES
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries, right_axis
from dashboards.queries import DIAGNOSED, Query, figure
from dashboards.tables import Table, labels

PANELS: list[Panel] = [
    *HEADLINES,
    Row("Where the time goes"),
    *common.time_account(),
    Row("Working or spinning? (orange marks are changes)"),
    common.CPU_BUSY,
    common.THROUGHPUT_PER_CPU,
    common.CACHE_CONTENTION,
    common.SPINNING_CPU,
    common.latest_changes(height=7),
    Row("Engines and threads", across=3),
    TimeSeries(
        title="Engines by CPU busy (good: one band, below 80 %)",
        description="Number of engines by how busy they are: over 0, 20, 40, 60 or 80 %. All at the top with high "
        "spinning is contention; two bands apart mean that work is spread unevenly.",
        queries=Query("sum by (busy) (ase:engines_busy:count{$selector})", "over {{busy}} %"),
        unit="none",
        stacked=True,
    ),
    TimeSeries(
        title="Engine time by mode (good: some idle)",
        unit="percentunit",
        description="Share of all engine time: user, system, I/O (idle with I/O outstanding), idle. System "
        "time over a third of user time points to the machine: huge pages, network.",
        queries=Query(
            "avg by (mode) (ase:engine_cpu:rate1m{$selector}"
            " / ignoring (mode) group_left sum without (mode) (ase:engine_cpu:rate1m{$selector}))",
            "{{mode}}",
        ),
        maximum=1,
        stacked=True,
    ),
    TimeSeries(
        title="CPU that engines did not get (good: under 20 %)",
        description="Share of the time that engines were busy, without a CPU from the operating system: "
        "steal by the hypervisor, or other processes of the host.",
        queries=figure(DIAGNOSED["cpu_lost"]),
        thresholds=[(thresholds.PARAMETERS["diagnosis"]["cpu_lost"], "orange")],
    ),
    TimeSeries(
        title="CPU units by thread pool (good: mostly engines)",
        unit="short",
        description="CPU seconds per second by thread pool. syb_system_pool holds I/O and network threads: "
        "near 1 per thread it is a bottleneck.",
        queries=Query("sum by (pool) (ase:thread_pool_cpu:rate1m{$selector})", "{{pool}}"),
        stacked=True,
    ),
    TimeSeries(
        title="Run queue per engine (good: under 2)",
        description="Runnable tasks waiting for an engine, per online engine. Long queues with little "
        "spinning need more CPU; with much spinning, less contention.",
        queries=[
            Query(
                "sum by (instance) (ase_run_queue_length{$selector})"
                ' / (sum by (instance) (ase_engines{$selector,state="online"}) > 0)',
                "{{instance}}",
            ),
            Query("max by (instance) (ase_run_queue_length_max{$selector})", "{{instance}} longest queue"),
        ],
        thresholds=[(thresholds.PARAMETERS["cpu"]["run_queue_per_engine"], "orange")],
    ),
    TimeSeries(
        title="Engines online (good: steady)",
        description="Engines by state. Fewer engines spin less: reduce before you add.",
        queries=Query("sum by (instance, state) (ase_engines{$selector})", "{{instance}} {{state}}"),
    ),
    Row("Work and waits"),
    common.TRANSACTIONS,
    common.WAITING,
    TimeSeries(
        title="Blocked processes (good: 0)",
        description="Processes blocked by another; right axis: longest wait. What to do: Waits and sessions.",
        queries=[
            Query("sum(ase_processes_blocked{$selector})", "blocked"),
            Query("max(ase_process_longest_block_seconds{$selector})", "longest"),
        ],
        thresholds=thresholds.BLOCKED,
        overrides=[right_axis("longest", "s")],
    ),
    common.time_per_io("Storage and network"),
    common.LOG_SPACE_USED,
    TimeSeries(
        title="Logical and max memory (good: headroom)",
        description="Memory that the configuration requires (`total logical memory`), and its limit (`max "
        "memory`). Without headroom the next change of an option may fail.",
        unit="bytes",
        queries=Query(
            "2048 * sum by (instance, name)"
            ' (ase_config_value{$selector,name=~"total logical memory|max memory"})',
            "{{instance}} {{name}}",
        ),
    ),
    TimeSeries(
        title="Time since the start (good: steadily rising)",
        description="Time since the server was started.",
        unit="s",
        queries=Query("time() - ase_start_timestamp_seconds{$selector}"),
    ),
    TimeSeries(
        title="Messages of the error log by severity (good: none over 16)",
        description="Messages per hour by severity, the ten most frequent.",
        unit="none",
        queries=Query(
            "topk(10, sum by (instance, severity) (increase(ase_error_log_messages_total{$selector}[1h])))",
            "{{instance}} severity {{severity}}",
        ),
        empty="No message since the exporter was started, or the collector is off",
    ),
    TimeSeries(
        title="Locked logins, and failed ones in an hour (good: as usual)",
        description="Logins that are locked, and messages 4002 of the error log in an hour.",
        queries=[
            Query("ase_logins_locked{$selector}", "{{instance}} locked"),
            Query(
                'sum by (instance) (increase(ase_error_log_messages_total{$selector,error="4002"}[1h]))',
                "{{instance}} failed in an hour",
            ),
        ],
    ),
    Table(
        title="Links between instances of a cluster (good: Up)",
        description="State by traffic and, while that leaves it in doubt, by active monitoring.",
        rows="ase_cluster_link_state{$selector}",
        columns=labels(
            instance="Server",
            local="From",
            remote="To",
            state="By traffic",
            active_state="By active monitoring",
        ),
        empty="Not collected: only Cluster Edition has them",
        width=0,
        height=9,
    ),
    common.not_collected(),
]

SERVER = dashboard(
    uid="ase-server",
    title="ASE server",
    description="One server at a glance: whether it works or spins, since when, what changed then, and what its engines"
    " do.",
    panels=PANELS,
)
