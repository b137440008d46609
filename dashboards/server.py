"""The ten-second page: one server from verdict to memory."""

from dashboards import common, thresholds
from dashboards.common import NO_COLLECTOR, NO_MONITORING, NO_WAITS
from dashboards.contention import HEADLINES
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query

PANELS: list[Panel] = [
    *HEADLINES,
    Row("Is it working or spinning? (orange marks are changes)"),
    common.cpu_busy(),
    common.throughput_per_cpu(),
    common.cache_contention(),
    common.spinning_cpu(),
    common.latest_changes(height=7),
    Row("Work and waits"),
    TimeSeries(
        title="Transactions (good: steady)",
        description="Committed transactions. Read it beside throughput per CPU unit: the same work for more "
        "CPU is the trouble, not less work at night. Source: monState.Transactions.",
        unit="si:/s",
        queries=[Query("ase:transactions:rate1m{$selector}", "{{instance}}")],
        empty=NO_MONITORING,
        width=6,
    ),
    TimeSeries(
        title="What tasks wait for (good: few)",
        description="How many tasks wait at any time, by event: seconds waited per second, without waiting "
        "for clients and timers; the ten largest. What to do: Waits, locks and log. Source: "
        "monSysWaits.WaitTime.",
        unit="short",
        queries=[Query("topk(10, ase:wait_top_seconds:rate1m{$selector})", "{{instance}} {{event}}")],
        empty=NO_WAITS,
        width=12,
    ),
    TimeSeries(
        title="Blocked processes (good: 0)",
        description="Processes blocked by another, and on the right axis how long the longest has waited. "
        "What to do: Waits, locks and log. Source: sysprocesses.blocked, time_blocked.",
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
        title="Memory, logical of max (good: room left)",
        description="Memory that the configuration asks for, and the most it may: `total logical memory` and "
        "`max memory`. No room means that the next change of an option may fail. Source: syscurconfigs.",
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
    common.not_collected(),
]

SERVER = dashboard(
    uid="ase-server",
    title="ASE server",
    description="The ten-second page: does it work or spin, since when, and what changed then.",
    panels=PANELS,
)
