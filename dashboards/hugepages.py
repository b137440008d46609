"""Dashboard of the database machines: huge pages, THP, page tables, NUMA, TLB."""

from collections.abc import Sequence

from dashboards.layout import dashboard
from dashboards.panels import NEUTRAL, NOT_COLLECTED, Panel, Row, Stat, TimeSeries, by_name
from dashboards.queries import Json, Query, now
from dashboards.tables import Column, Table, labels
from dashboards.thresholds import PARAMETERS

READABLE = "dbhost_process_smaps_readable{$machine} == 1"
WITHOUT = (
    f"({READABLE}) unless on (instance, job, database, server_name)"
    " dbhost_process_hugetlb_mapped_bytes{$machine} > 0"
)
MODES = (("never", "green"), ("madvise", "orange"), ("always", "red"))


def _named(label: str, series: str, blank: str) -> Query:
    """The series that are 1 by a label, or `blank` without any: a panel of names does not show missing values."""
    missing = f'label_replace(absent({series}) * 0 + 1, "{label}", "{blank}", "", "")'
    return now(f"max by ({label}) ({series}) == 1 or max by ({label}) ({missing})", f"{{{{{label}}}}}")


def _coloured(names: Sequence[tuple[str, str]]) -> list[Json]:
    """Overrides that assign a colour to each series name."""
    return [by_name(name, color={"mode": "fixed", "fixedColor": colour}) for name, colour in names]


PANELS: list[Panel] = [
    Stat(
        title="Servers without huge pages (good: 0)",
        description="Database servers that map no huge page, of those whose smaps may be read. What to do: "
        "`ase-exporter hugepages` says what to set.",
        queries=now(f"count({WITHOUT}) or 0 * count({READABLE})"),
        thresholds=[(1, "red")],
        width=8,
    ),
    Stat(
        title="Neither used nor reserved (good: under 4 GiB)",
        description="Memory in huge pages that nobody uses or has reserved: no other program can use it. "
        "`ase-exporter hugepages` says how many pages ASE needs. Source: free_hugepages, resv_hugepages.",
        unit="bytes",
        queries=now(
            "sum by (size) ((dbhost_hugepages_free{$machine} - dbhost_hugepages_reserved{$machine})"
            " * dbhost_hugepages_size_bytes{$machine})",
            "{{size}}",
        ),
        thresholds=[(PARAMETERS["hugepages"]["stranded_bytes"], "orange")],
        width=8,
    ),
    Stat(
        title="THP (good: never)",
        description="Mode of transparent huge pages. Use `never` for databases: khugepaged stalls them. Only "
        "the kernel boot parameter transparent_hugepage=never is reliable. Source: "
        "transparent_hugepage/enabled.",
        queries=_named("mode", "dbhost_thp_enabled{$machine}", NOT_COLLECTED),
        show="name",
        base="text",
        coloured="background",
        overrides=_coloured((*MODES, (NOT_COLLECTED, NEUTRAL))),
        width=8,
    ),
    Row("Huge pages: in the pool, used"),
    TimeSeries(
        title="Pool and use (good: pool just above)",
        unit="short",
        description="Huge pages in the pool, and in use (touched or reserved), by size. Use far below the "
        "pool: stranded. Source: /sys/kernel/mm/hugepages.",
        queries=[
            Query("sum by (size) (dbhost_hugepages{$machine})", "{{size}} pool"),
            Query("sum by (size) (dbhost:hugepages_taken:pages{$machine})", "{{size}} in use"),
        ],
    ),
    TimeSeries(
        title="By NUMA node: pool and free",
        unit="short",
        description="Huge pages of each node's pool. Uneven pools place a server's memory far from some of "
        "its engines. Source: node*/hugepages.",
        queries=[
            Query("topk(10, dbhost_numa_hugepages{$machine})", "{{instance}} node {{node}} {{size}} pool"),
            Query(
                "topk(10, dbhost_numa_hugepages_free{$machine})", "{{instance}} node {{node}} {{size}} free"
            ),
        ],
    ),
    Row("Database processes"),
    Table(
        title="Memory by page size (good: nearly all in huge pages)",
        description="Memory of each database server by page size. Shared memory in small pages costs page "
        "tables and TLB misses. The memlock limit must cover the huge pages. Sources: /proc/PID/status, "
        "smaps, limits.",
        columns=[
            *labels(instance="Machine", database="Database", server_name="Server"),
            *(
                Column(
                    title=title,
                    expr=f"{most} by (instance, database, server_name) (dbhost_process_{memory}_bytes{{$machine}})",
                    unit="bytes",
                    width=120,
                    thresholds=limit,
                    base="text",
                )
                for title, most, memory, limit in (
                    ("In huge pages", "max", "hugetlb", ()),
                    ("Shared, 4 KiB", "max", "shmem", ()),
                    ("Private", "max", "anonymous", ()),
                    ("of which THP", "max", "anon_hugepages", [(1, "orange")]),
                    ("Page tables", "max", "page_tables", ()),
                    ("memlock limit", "min", "memlock_limit", ()),
                )
            ),
        ],
        sort=["In huge pages"],
        height=5,
    ),
    Row("The TLB and CPU cycles", across=3),
    TimeSeries(
        title="TLB misses per dTLB load (good: low)",
        description="TLB misses (dTLB loads and stores, iTLB) per dTLB load. Each miss is a walk through the "
        "page tables, which huge pages reduce. Over 1.5 times the daily median raises an alert. Source: perf "
        "stat.",
        queries=[
            Query("dbhost:tlb_misses:ratio_rate1m{$machine}"),
            Query("dbhost:tlb_misses:median1d{$machine}", "{{instance}} median of a day"),
        ],
    ),
    TimeSeries(
        title="Instructions per cycle (good: high)",
        unit="short",
        description="Instructions completed per CPU cycle. Spinning raises it without doing work, waiting "
        "for memory lowers it: compare with throughput. Source: perf stat instructions, cycles.",
        queries=Query("dbhost:instructions_per_cycle:ratio_rate1m{$machine}"),
    ),
    TimeSeries(
        title="Cycles waited for page walks (good: low)",
        description="Share of CPU cycles spent walking page tables after a TLB miss: the cost that huge "
        "pages reduce. Needs raw events from the CPU's profile. Source: perf stat.",
        queries=Query("dbhost:cycles_waited:ratio_rate1m{$machine}"),
    ),
    TimeSeries(
        title="Page walks to main memory (good: few)",
        description="Page walks per second that read main memory, the most expensive TLB misses. Source: "
        "perf stat, raw events.",
        queries=Query("dbhost:main_memory_reads:rate1m{$machine}"),
    ),
    TimeSeries(
        title="TLB shootdowns (good: few)",
        description="Interrupts that make other CPUs invalidate address translations. Many: memory is mapped "
        "and unmapped, or NUMA balancing and THP move pages. Source: /proc/interrupts TLB.",
        queries=Query("dbhost:tlb_shootdowns:rate1m{$machine}"),
    ),
    Row("Transparent huge pages, page tables, NUMA", across=3),
    TimeSeries(
        title="Compaction of memory for huge pages (good: 0)",
        description="Times that a process waited while the kernel moved pages to make a huge one, and how it "
        "ended. Above 0: set THP defrag to never. Source: /proc/vmstat compact_stall, compact_fail, "
        "compact_success.",
        queries=[
            Query(
                f"rate(dbhost_vmstat_compact_{name}_total{{$machine}}[$__rate_interval])",
                f"{{{{instance}}}} {name}",
            )
            for name in ("stall", "fail", "success")
        ],
    ),
    TimeSeries(
        title="Memory in THP (good: 0)",
        description="Memory in transparent huge pages by kind. Above 0, THP is in use, whatever the mode. "
        "Source: /proc/meminfo AnonHugePages, ShmemHugePages, FileHugePages.",
        queries=[
            Query("dbhost_memory_anon_hugepages_bytes{$machine}", "{{instance}} anonymous"),
            Query("dbhost_memory_shmem_hugepages_bytes{$machine}", "{{instance}} shared"),
            Query("dbhost_memory_file_hugepages_bytes{$machine}", "{{instance}} files"),
        ],
    ),
    TimeSeries(
        title="Page tables (good: under 2 % of memory)",
        description="Share of memory used by page tables. Many processes that map a large shared memory in "
        "small pages multiply it; huge pages avoid it. Source: /proc/meminfo PageTables.",
        unit="percentunit",
        queries=Query("dbhost_memory_page_tables_bytes{$machine} / dbhost_memory_bytes{$machine}"),
        thresholds=[(PARAMETERS["hugepages"]["page_tables_share"], "orange")],
    ),
    TimeSeries(
        title="NUMA: pages on the wrong node (good: 0)",
        description="Pages allocated on a node though intended for another. A server larger than a node "
        "cannot avoid it; a smaller one can be bound. Source: node*/numastat numa_miss.",
        queries=Query(
            "topk(20, rate(dbhost_numa_miss_pages_total{$machine}[$__rate_interval]))",
            "{{instance}} node {{node}}",
        ),
    ),
    TimeSeries(
        title="NUMA: free memory by node (good: even)",
        description="Free memory of each node. Engines on a node without free memory use remote memory. "
        "Source: node*/meminfo.",
        queries=Query("topk(20, dbhost_numa_memory_free_bytes{$machine})", "{{instance}} node {{node}}"),
    ),
    TimeSeries(
        title="NUMA balancing: hint faults (good: 0)",
        description="Page faults that automatic NUMA balancing causes to find out which node uses a page. "
        "Disable it for databases with huge pages: kernel.numa_balancing=0. Source: /proc/vmstat "
        "numa_hint_faults.",
        queries=Query("rate(dbhost_numa_balancing_hint_faults_total{$machine}[$__rate_interval])"),
        empty="Not collected: this kernel has no NUMA balancing",
    ),
    TimeSeries(
        title="Page faults of databases (good: few)",
        description="Page faults served from memory, by server. Many under steady load: memory is touched "
        "for the first time, or released and allocated again. Source: /proc/PID/stat minflt.",
        queries=Query(
            "topk(10, rate(dbhost_process_minor_faults_total{$machine}[$__rate_interval]))",
            "{{instance}} {{server_name}}",
        ),
    ),
    Table(
        title="Not collected here, and why (good: empty)",
        description="What this machine, kernel or container lacks, and events that perf cannot count, with a "
        "remedy. Sources: dbhost_collector_unavailable, dbhost_perf_problem, dbhost_perf_event_problem.",
        rows="dbhost_collector_unavailable{$machine} == 1 or dbhost_perf_problem{$machine} == 1"
        " or dbhost_perf_event_problem{$machine} == 1",
        columns=[
            # The hint needs the room.
            Column(label="instance", title="Machine", width=110),
            Column(label="collector", title="Collector", width=110),
            Column(label="event", title="Event", width=150),
            Column(label="reason", title="Reason", width=110),
            Column(label="hint", title="What to do"),
        ],
        empty="Everything is collected",
        height=5,
    ),
]

HUGEPAGES = dashboard(
    uid="ase-hugepages",
    title="Huge pages and TLB",
    description="Whether the databases of a machine use huge pages, and the state of TLB and memory.",
    panels=PANELS,
)
