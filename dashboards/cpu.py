"""Dashboard of CPU and throughput: engines, threads, run queues, CPU units, throughput per CPU unit."""

from dashboards import common, thresholds
from dashboards.common import NO_MONITORING, NO_THREADS
from dashboards.layout import dashboard
from dashboards.panels import Heatmap, Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query, rate

PANELS: list[Panel] = [
    Heatmap(
        title="Engines by CPU busy (good: one band, below the top)",
        description="Number of engines by how busy they are. One band at the top with high spinning is "
        "contention; two separate bands mean that work is spread unevenly. Source: monEngine, user "
        "and system time as a share of all.",
        queries=[
            Query("sum by (le) (ase:engines_busy_bucket:count{$selector})", "{{le}}", format="heatmap"),
        ],
        empty=NO_MONITORING,
    ),
    common.cpu_busy(),
    common.throughput_per_cpu(),
    Row("Where engine time goes"),
    TimeSeries(
        title="Engine time by mode (good: some idle, little system)",
        description="Share of all engine time: user, system, I/O (idle with I/O outstanding), idle. System time "
        "over a third of user time points to the machine: huge pages, network. Source: monEngine.",
        unit="percentunit",
        queries=[
            Query("avg by (mode) (ase:engine_modes:ratio_rate1m{$selector})", "{{mode}}"),
        ],
        maximum=1,
        stacked=True,
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Throughput and CPU units (good: they rise together)",
        description="Transactions per second, and CPU units: CPU seconds per second of all threads. More CPU "
        "units without more transactions: engines spin. Sources: monState.Transactions, monThread.",
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
        title="CPU units by thread pool (good: mostly engines)",
        description="CPU seconds per second by thread pool. syb_system_pool holds I/O and network threads: near "
        "1 per thread it is a bottleneck. Source: monThread.",
        unit="short",
        queries=[Query("sum by (pool) (ase:thread_pool_cpu:rate1m{$selector})", "{{pool}}")],
        stacked=True,
        empty=NO_THREADS,
        width=8,
    ),
    TimeSeries(
        title="Threads by pool (good: as configured)",
        description="Threads of each pool, actual and configured. Source: monThreadPool.",
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
        description="Runnable tasks waiting for an engine, per online engine. Long queues with little spinning "
        "need more CPU; with much spinning, less contention. Source: monSysLoad.",
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
        description="Engines by state. Fewer engines spin less: reduce before you add. Source: monEngine.",
        unit="none",
        queries=[Query("sum by (instance, state) (ase_engines{$selector})", "{{instance}} {{state}}")],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Task switches and yields of engines",
        description="Context switches of tasks, and times that engines yielded their CPU to the operating "
        "system. Many yields: engines that are idle most of the time. Source: "
        "monEngine.ContextSwitches, Yields.",
        unit="count:/s",
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
        description="Times that the operating system preempted a thread of ASE: the machine has fewer free CPUs "
        "than the server has engines. Source: monThread.NonVoluntaryCtxtSwitches.",
        unit="count:/s",
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
    TimeSeries(
        title="Runnable tasks of the kernel (good: few)",
        description="Tasks of ASE's kernel that wait for an engine, average of a minute. Source: "
        "monSysLoad (Kernel run queue length).",
        unit="short",
        queries=[Query("ase_kernel_run_queue_length{$selector}", "{{instance}}")],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Page faults of threads by pool (good: 0 major)",
        description="Page faults by severity. Major faults read from disk: the memory of the server is swapped. "
        "Source: monThread.MinorFaults, MajorFaults.",
        unit="count:/s",
        queries=[
            Query(
                f"sum by (pool, severity) ({rate('ase_threads_page_faults_total')})",
                "{{pool}} {{severity}}",
            )
        ],
        empty=NO_THREADS,
        width=8,
    ),
    TimeSeries(
        title="Tasks run by pool",
        description="Tasks that the threads of each pool ran. Source: monThread.TaskRuns.",
        unit="count:/s",
        queries=[Query(f"sum by (pool) ({rate('ase_threads_task_runs_total')})", "{{pool}}")],
        empty=NO_THREADS,
        width=8,
    ),
    TimeSeries(
        title="CPU that engines did not get (good: under 20 %)",
        description="Share of the time that engines were busy, without a CPU from the operating system: steal by "
        "the hypervisor, or other processes of the host. Source: monThread against monEngine.",
        unit="percentunit",
        # The two clocks differ slightly: without a loss it is about 0, or below.
        queries=[
            Query(
                "clamp_min(1 - sum by (instance) (ase:thread_pool_cpu:rate1m{$selector})"
                ' / (sum by (instance) (ase:engine_cpu:rate1m{$selector,mode=~"user|system"}) >= 0.1), 0)',
                "{{instance}}",
            )
        ],
        thresholds=[(thresholds.PARAMETERS["diagnosis"]["cpu_lost"], "orange")],
        empty=NO_THREADS,
        width=24,
    ),
    common.not_collected("engines|engine_details|run_queues|threads|thread_.*|tasks|work_queues|state"),
]

CPU = dashboard(
    uid="ase-cpu",
    title="ASE CPU and throughput",
    description="How engines spend their time, and throughput per CPU.",
    panels=PANELS,
)
