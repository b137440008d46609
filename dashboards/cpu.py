"""CPU and throughput: engines, threads, run queues, CPU units, and work per CPU unit."""

from dashboards import common, thresholds
from dashboards.common import NO_MONITORING
from dashboards.layout import dashboard
from dashboards.panels import Heatmap, Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query

NO_THREADS = "Not collected (yet): the collector is off, or not the threaded kernel (from 15.7)"

PANELS: list[Panel] = [
    Heatmap(
        title="Engines by how busy they are (good: one band, under the top)",
        description="How many engines are how busy. One band at the top with high spinning below is "
        "contention; a band split in two means that work is not spread. Source: monEngine, user and system "
        "by all.",
        queries=[
            Query("sum by (le) (ase:engines_busy_bucket:count{$selector})", "{{le}}", format="heatmap"),
        ],
        empty=NO_MONITORING,
    ),
    common.cpu_busy(),
    common.throughput_per_cpu(),
    Row("Where engine time goes"),
    TimeSeries(
        title="Engine time by mode (good: idle left, system small)",
        description="Share of all engine time: user, system, I/O (idle with I/O outstanding), idle. System "
        "over a third of user hints at the machine: huge pages, network. Source: monEngine.",
        unit="percentunit",
        queries=[
            Query("avg by (mode) (ase:engine_modes:ratio_rate1m{$selector})", "{{mode}}"),
        ],
        maximum=1,
        stacked=True,
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Throughput against CPU units (good: they rise together)",
        description="Transactions, and CPU units: CPU seconds per second of all threads. More CPU units "
        "without more transactions: engines spin. Sources: monState.Transactions, monThread.",
        unit="short",
        queries=[
            Query("sum(ase:transactions:rate1m{$selector})", "transactions per second"),
            Query("sum(ase:cpu_units:rate1m{$selector})", "CPU units"),
        ],
        overrides=[right_axis("CPU units", "short")],
        empty=NO_MONITORING,
    ),
    Row("Threads and queues"),
    TimeSeries(
        title="CPU units by thread pool (good: engines)",
        description="CPU seconds per second by thread pool. syb_system_pool holds I/O and network threads: "
        "near 1 for each of its threads, it is a bottleneck. Source: monThread.",
        unit="short",
        queries=[Query("sum by (pool) (ase:thread_pool_cpu:rate1m{$selector})", "{{pool}}")],
        stacked=True,
        empty=NO_THREADS,
        width=8,
    ),
    TimeSeries(
        title="Threads by pool (good: as configured)",
        description="Threads of each pool, and what it is configured to have. Source: monThreadPool.",
        unit="none",
        queries=[
            Query("sum by (pool) (ase_thread_pool_threads{$selector})", "{{pool}}"),
            Query("sum by (pool) (ase_thread_pool_target_threads{$selector})", "{{pool}} configured"),
        ],
        empty=NO_THREADS,
        width=8,
    ),
    TimeSeries(
        title="Run queue per engine (good: under 2)",
        description="Runnable tasks that wait for an engine, for each engine online. Long queues with little "
        "spinning ask for CPU; with much spinning they ask for less contention. Source: monSysLoad.",
        unit="short",
        queries=[
            Query(
                "sum by (instance) (ase_run_queue_length{$selector})"
                ' / (sum by (instance) (ase_engines{$selector,state="online"}) > 0)',
                "{{instance}}",
            ),
            Query("max by (instance) (ase_run_queue_length_max{$selector})", "{{instance}} longest queue"),
        ],
        thresholds=[(thresholds.PARAMETERS["cpu"]["run_queue_per_engine"], "orange")],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Engines online (good: steady)",
        description="Engines by state. Fewer engines spin less: take some away before you add any. Source: "
        "monEngine.",
        unit="none",
        queries=[Query("sum by (instance, state) (ase_engines{$selector})", "{{instance}} {{state}}")],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Task switches and yields of engines",
        description="Context switches of tasks, and times that engines gave their CPU back to the operating "
        "system. Many yields: idle engines that come and go. Source: monEngine.ContextSwitches, Yields.",
        unit="si:/s",
        queries=[
            Query(
                "rate(ase_engines_context_switches_total{$selector}[$__rate_interval])",
                "{{instance}} switches",
            ),
            Query("rate(ase_engines_yields_total{$selector}[$__rate_interval])", "{{instance}} yields"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Involuntary switches by pool (good: near 0)",
        description="Times that the operating system took the CPU from a thread of ASE: the machine has "
        "fewer CPUs free than the server has engines. Source: monThread.NonVoluntaryCtxtSwitches.",
        unit="si:/s",
        queries=[
            Query(
                'sum by (pool) (rate(ase_threads_context_switches_total{$selector,cause!="voluntary"}'
                "[$__rate_interval]))",
                "{{pool}}",
            )
        ],
        empty=NO_THREADS,
        width=8,
    ),
    common.not_collected("engines|engine_details|run_queues|threads|thread_.*|tasks|work_queues|state"),
]

CPU = dashboard(
    uid="ase-cpu",
    title="ASE CPU and throughput",
    description="What the engines do with their time, and how much work comes out of a CPU.",
    panels=PANELS,
)
