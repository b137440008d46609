"""Huge pages, THP, page tables, NUMA and the TLB of the machines under the servers."""

from collections.abc import Sequence

from dashboards.common import NO_HOST
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Stat, Table, TimeSeries, by_name
from dashboards.queries import Json, Query, now, rows
from dashboards.thresholds import PARAMETERS

NO_REQUIRED = "No verdict: `host: required:` does not say what the databases need"
NO_PROCESS = "No database process was found on the machine (`host: processes:`)"
NO_PERF = "Not counted: perf is off, not allowed (perf_event_paranoid), or the CPU (a VM?) has no such event"

STATES = (
    ("enough", "green"),
    ("short", "red"),
    ("not_used", "red"),
    ("wrong_size", "red"),
    ("memlock_low", "red"),
    ("stranded", "orange"),
    ("thp_on", "orange"),
)
MODES = (("never", "green"), ("madvise", "orange"), ("always", "red"))


def _coloured(names: Sequence[tuple[str, str]]) -> list[Json]:
    """Overrides that give each series, by its name, a colour of its own."""
    return [by_name(name, color={"mode": "fixed", "fixedColor": colour}) for name, colour in names]


PANELS: list[Panel] = [
    Stat(
        title="Verdict (good: enough, and nothing else)",
        description="What holds of the machine's huge pages now: `ase-exporter hugepages` explains each "
        "state and prints the commands that mend it. Source: dbhost_hugepages_state.",
        unit="none",
        queries=[now("max by (state) (dbhost_hugepages_state{$machine}) == 1", "{{state}}")],
        show="name",
        base="text",
        coloured="background",
        orientation="vertical",
        overrides=_coloured(STATES),
        empty=NO_REQUIRED,
        blank="no verdict",
        width=12,
    ),
    Stat(
        title="Short (good: 0)",
        description="Huge pages missing to what the databases need: the rest of their memory lies in small "
        "pages, or they do not start. What to do: vm.nr_hugepages, see `ase-exporter hugepages`. Source: "
        "dbhost_hugepages_short.",
        unit="none",
        queries=[now("sum by (size) (dbhost_hugepages_short{$machine})", "{{size}}")],
        thresholds=[(1, "red")],
        empty=NO_REQUIRED,
        blank="no verdict",
    ),
    Stat(
        title="Stranded (good: 0)",
        description="Memory in huge pages that are neither required nor used: nobody can use it. Over 4 GiB "
        "is worth giving back. Source: dbhost_hugepages_stranded.",
        unit="bytes",
        queries=[
            now(
                "sum by (size) (dbhost_hugepages_stranded{$machine} * dbhost_hugepages_size_bytes{$machine})",
                "{{size}}",
            )
        ],
        thresholds=[(PARAMETERS["hugepages"]["stranded_bytes"], "orange")],
        empty=NO_REQUIRED,
        blank="no verdict",
    ),
    Stat(
        title="THP (good: never)",
        description="The mode of transparent huge pages. Databases want `never`: khugepaged stalls them. "
        "Only the kernel's boot line is sure: transparent_hugepage=never. Source: "
        "transparent_hugepage/enabled.",
        unit="none",
        queries=[now("max by (mode) (dbhost_thp_enabled{$machine}) == 1", "{{mode}}")],
        show="name",
        base="text",
        coloured="background",
        overrides=_coloured(MODES),
        empty=NO_HOST,
    ),
    Row("Huge pages: required, in the pool, used"),
    TimeSeries(
        title="Pool against need (good: a little over it)",
        description="Huge pages in the pool, taken (touched or promised), and required by the databases, by "
        "size. Pool under required: short. Taken far under pool: stranded. Source: /sys/kernel/mm/hugepages.",
        unit="short",
        queries=[
            Query("sum by (size) (dbhost_hugepages{$machine})", "{{size}} pool"),
            Query("sum by (size) (dbhost:hugepages_taken:pages{$machine})", "{{size}} taken"),
            Query("sum by (size) (dbhost_hugepages_required{$machine})", "{{size}} required"),
        ],
        empty=NO_HOST,
        width=8,
    ),
    TimeSeries(
        title="Free, reserved, surplus (good: little free)",
        description="Pages not handed out; of them those promised to a process but not touched yet; pages "
        "over the pool's size. Source: free_hugepages, resv_hugepages, surplus_hugepages.",
        unit="short",
        queries=[
            Query("sum by (size) (dbhost_hugepages_free{$machine})", "{{size}} free"),
            Query("sum by (size) (dbhost_hugepages_reserved{$machine})", "{{size}} reserved"),
            Query("sum by (size) (dbhost_hugepages_surplus{$machine})", "{{size}} surplus"),
        ],
        empty=NO_HOST,
        width=8,
    ),
    TimeSeries(
        title="By NUMA node: in the pool, and free",
        description="Huge pages of each node's pool. Very uneven pools put a server's memory far from some "
        "of its engines. Source: node*/hugepages.",
        unit="short",
        queries=[
            Query("topk(10, dbhost_numa_hugepages{$machine})", "{{instance}} node {{node}} {{size}} pool"),
            Query(
                "topk(10, dbhost_numa_hugepages_free{$machine})", "{{instance}} node {{node}} {{size}} free"
            ),
        ],
        empty=NO_HOST,
        width=8,
    ),
    Row("The databases' processes"),
    Table(
        title="Who uses what (good: huge pages near the server's memory)",
        description="Memory of each database server by kind of page. Shared memory in small pages costs page "
        "tables and TLB misses. memlock must cover the huge pages. Sources: /proc/PID/status, smaps, limits.",
        queries=[
            rows("max by (instance, database, server_name) (dbhost_process_hugetlb_bytes{$machine})"),
            rows("max by (instance, database, server_name) (dbhost_process_shmem_bytes{$machine})"),
            rows("max by (instance, database, server_name) (dbhost_process_anonymous_bytes{$machine})"),
            rows("max by (instance, database, server_name) (dbhost_process_page_tables_bytes{$machine})"),
            rows("min by (instance, database, server_name) (dbhost_process_memlock_limit_bytes{$machine})"),
            rows("max by (instance, database, server_name) (dbhost_process_anon_hugepages_bytes{$machine})"),
        ],
        columns=[
            Column(name="instance", title="Machine"),
            Column(name="database", title="Database"),
            Column(name="server_name", title="Server"),
            Column(name="Value #A", title="In huge pages", unit="bytes", width=120),
            Column(name="Value #B", title="Shared, small", unit="bytes", width=120),
            Column(name="Value #C", title="Own memory", unit="bytes", width=120),
            Column(
                name="Value #F",
                title="Of it in THP",
                unit="bytes",
                thresholds=[(1, "orange")],
                base="text",
                width=120,
            ),
            Column(name="Value #D", title="Page tables", unit="bytes", width=120),
            Column(name="Value #E", title="memlock limit", unit="bytes", width=120),
        ],
        sort=["In huge pages"],
        empty=NO_PROCESS,
        height=5,
    ),
    Row("What it does to the CPU: the TLB"),
    TimeSeries(
        title="TLB misses per dTLB load (good: low)",
        description="Misses of the TLB (dTLB loads and stores, iTLB) by dTLB loads. Huge pages are "
        "meant to lower it, and this shows whether they do: each miss is a walk through page tables. Over "
        "one and a half times the day's median raises an alert. Source: perf stat.",
        unit="percentunit",
        queries=[
            Query("dbhost:tlb_misses:ratio_rate1m{$machine}", "{{instance}}"),
            Query("dbhost:tlb_misses:median1d{$machine}", "{{instance}} median of a day"),
        ],
        empty=NO_PERF,
    ),
    TimeSeries(
        title="Instructions per cycle (good: high)",
        description="How much work a CPU cycle does. Spinning and waiting for memory both lower what it is "
        "worth: read it beside throughput. Source: perf stat instructions, cycles.",
        unit="short",
        queries=[Query("dbhost:instructions_per_cycle:ratio_rate1m{$machine}", "{{instance}}")],
        empty=NO_PERF,
    ),
    TimeSeries(
        title="Cycles waited for page walks (good: low)",
        description="Share of CPU cycles spent walking page tables after a TLB miss: what huge pages win "
        "back. Needs raw events that the CPU's profile names. Source: perf stat.",
        unit="percentunit",
        queries=[Query("dbhost:cycles_waited:ratio_rate1m{$machine}", "{{instance}}")],
        empty=NO_PERF,
        width=8,
    ),
    TimeSeries(
        title="Page walks to main memory (good: few)",
        description="Page walks that had to read main memory, per second: the dearest misses. Source: perf "
        "stat, raw events.",
        unit="si:/s",
        queries=[Query("dbhost:main_memory_reads:rate1m{$machine}", "{{instance}}")],
        empty=NO_PERF,
        width=8,
    ),
    TimeSeries(
        title="TLB shootdowns (good: few)",
        description="Interrupts that make other CPUs forget pages. Many: memory is mapped and unmapped, or "
        "NUMA balancing and THP move pages. Source: /proc/interrupts TLB.",
        unit="si:/s",
        queries=[Query("dbhost:tlb_shootdowns:rate1m{$machine}", "{{instance}}")],
        empty=NO_HOST,
        width=8,
    ),
    Row("Transparent huge pages, page tables, NUMA"),
    TimeSeries(
        title="Memory in THP (good: 0)",
        description="Memory in transparent huge pages by kind. Over 0 shows that THP is in use, whatever the "
        "mode says. Source: /proc/meminfo AnonHugePages, ShmemHugePages, FileHugePages.",
        unit="bytes",
        queries=[
            Query("dbhost_memory_anon_hugepages_bytes{$machine}", "{{instance}} anonymous"),
            Query("dbhost_memory_shmem_hugepages_bytes{$machine}", "{{instance}} shared"),
            Query("dbhost_memory_file_hugepages_bytes{$machine}", "{{instance}} files"),
        ],
        empty=NO_HOST,
        width=8,
    ),
    TimeSeries(
        title="Page tables (good: under 2 % of memory)",
        description="Share of all memory that holds page tables. Many processes on one large shared memory "
        "in small pages multiply it; huge pages end it. Source: /proc/meminfo PageTables.",
        unit="percentunit",
        queries=[
            Query(
                "dbhost_memory_page_tables_bytes{$machine} / dbhost_memory_bytes{$machine}", "{{instance}}"
            ),
        ],
        thresholds=[(PARAMETERS["hugepages"]["page_tables_share"], "orange")],
        empty=NO_HOST,
        width=8,
    ),
    TimeSeries(
        title="NUMA: pages on the wrong node (good: 0)",
        description="Pages allocated here though meant for another node. A server larger than a node cannot "
        "avoid it; one that fits can be bound. Source: node*/numastat numa_miss.",
        unit="si:/s",
        queries=[
            Query(
                "topk(20, rate(dbhost_numa_miss_pages_total{$machine}[$__rate_interval]))",
                "{{instance}} node {{node}}",
            ),
        ],
        empty=NO_HOST,
        width=8,
    ),
    TimeSeries(
        title="NUMA: free memory by node (good: even)",
        description="Free memory of each node. A node without any makes its engines reach far. Source: "
        "node*/meminfo.",
        unit="bytes",
        queries=[Query("topk(20, dbhost_numa_memory_free_bytes{$machine})", "{{instance}} node {{node}}")],
        empty=NO_HOST,
        width=8,
    ),
    TimeSeries(
        title="NUMA balancing: hint faults (good: 0)",
        description="Page faults that automatic NUMA balancing makes to learn who uses a page. Databases "
        "with huge pages want it off: kernel.numa_balancing=0. Source: /proc/vmstat numa_hint_faults.",
        unit="si:/s",
        queries=[
            Query(
                "rate(dbhost_numa_balancing_hint_faults_total{$machine}[$__rate_interval])", "{{instance}}"
            ),
        ],
        empty="Not collected: this kernel has no NUMA balancing",
        width=8,
    ),
    TimeSeries(
        title="Page faults of databases (good: few)",
        description="Page faults served from memory, by server. Many in steady work: memory is touched for "
        "the first time, or given back and taken again. Source: /proc/PID/stat minflt.",
        unit="si:/s",
        queries=[
            Query(
                "topk(10, rate(dbhost_process_minor_faults_total{$machine}[$__rate_interval]))",
                "{{instance}} {{server_name}}",
            )
        ],
        empty=NO_PROCESS,
        width=8,
    ),
    Table(
        title="Not counted here, and why (good: empty)",
        description="What this machine, kernel or container does not offer, and events that perf cannot "
        "count, with what helps. Sources: dbhost_collector_unavailable, dbhost_perf_problem, "
        "dbhost_perf_event_problem.",
        queries=[
            rows(
                "dbhost_collector_unavailable{$machine} == 1 or dbhost_perf_problem{$machine} == 1"
                " or dbhost_perf_event_problem{$machine} == 1"
            )
        ],
        columns=[
            Column(name="instance", title="Machine"),
            Column(name="collector", title="Collector"),
            Column(name="event", title="Event"),
            Column(name="reason", title="Reason"),
            Column(name="hint", title="What helps"),
        ],
        empty="Everything is collected",
        height=5,
    ),
]

HUGEPAGES = dashboard(
    uid="ase-hugepages",
    title="Huge pages and TLB",
    description="Do the databases of this machine really use their huge pages, and what do the TLB and "
    "memory do?",
    panels=PANELS,
)
