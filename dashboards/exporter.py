"""The exporter itself: does it read everything, how long does it take, what does it cost the server."""

from dashboards import common
from dashboards.common import NO_MONITORING, NO_SERVER
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Stat, Table, TimeSeries, by_pattern
from dashboards.queries import Query, now, rows
from dashboards.thresholds import PARAMETERS

LIMITS = PARAMETERS["exporter"]

PANELS: list[Panel] = [
    Stat(
        title="Servers up",
        description="Servers that answered the last scrape. Source: ase_up.",
        unit="none",
        queries=[now("sum(ase_up{$selector})")],
        empty=NO_SERVER,
    ),
    Stat(
        title="Servers down (good: 0)",
        description="Targets that could not be reached or logged in to: the table below says why. Source: "
        "ase_up.",
        unit="none",
        queries=[now("sum(1 - ase_up{$selector})")],
        thresholds=[(1, "red")],
        empty=NO_SERVER,
        width=5,
    ),
    Stat(
        title="Slowest scrape (good: < 5 s)",
        description="The longest scrape of the chosen servers. Source: ase_exporter_scrape_duration_seconds.",
        unit="s",
        queries=[now("max(ase_exporter_scrape_duration_seconds{$selector})")],
        thresholds=[(LIMITS["slow_seconds"], "orange")],
        empty=NO_SERVER,
        width=5,
    ),
    Stat(
        title="Failing collectors (good: 0)",
        description="Collectors that failed in the last scrape: the log of the exporter says why. Source: "
        "ase_exporter_collector_success.",
        unit="none",
        queries=[now("count(ase:collector_failing:info{$selector}) or vector(0)")],
        thresholds=[(1, "orange")],
        empty=NO_SERVER,
        width=5,
    ),
    Stat(
        title="Configuration (good: ok)",
        description="Whether the configuration was read without an error when it was last asked for. Source: "
        "ase_exporter_config_last_reload_successful.",
        unit="none",
        queries=[now("min(ase_exporter_config_last_reload_successful)")],
        names={"0": ("refused", "red"), "1": ("ok", "green")},
        empty="No exporter's own metrics are scraped (/metrics)",
        width=5,
    ),
    Row("Scrapes"),
    TimeSeries(
        title="Time a scrape takes, the ten slowest (good: under 5 s)",
        description="Time that a scrape of a server took. Past the deadline a scrape gives what it has. What "
        "to do: the slowest collectors beside; give them an interval, or switch them off. "
        "Source: ase_exporter_scrape_duration_seconds.",
        unit="s",
        queries=[Query("topk(10, ase_exporter_scrape_duration_seconds{$selector})", "{{instance}}")],
        thresholds=[(LIMITS["slow_seconds"], "orange")],
        empty=NO_SERVER,
    ),
    TimeSeries(
        title="The slowest collectors",
        description="Time that reading a collector took, the ten slowest of the chosen servers. Source: "
        "ase_exporter_collector_duration_seconds.",
        unit="s",
        queries=[
            Query("topk(3, ase:collector_top_duration:seconds{$selector})", "{{instance}} {{collector}}")
        ],
        empty=NO_SERVER,
    ),
    Row("What the exporter costs the server"),
    TimeSeries(
        title="CPU of our session (good: under 10 %)",
        description="CPU seconds per second that the exporter's own session takes in the server. What to do: "
        "longer scrape intervals, fewer collectors. Source: monProcessActivity.CPUTime of our own spid.",
        unit="percentunit",
        queries=[
            Query(
                "topk(20, rate(ase_exporter_session_cpu_seconds_total{$selector}[$__rate_interval]))",
                "{{instance}}",
            )
        ],
        thresholds=[(LIMITS["cpu"], "orange")],
        overrides=[by_pattern(".*", custom__axisSoftMax=2 * LIMITS["cpu"])],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Statements and rows read (good: steady)",
        description="Statements sent, and on the same scale in hundreds the rows read, per second. A step in "
        "rows: a table grew. Source: ase_exporter_statements_total, ase_exporter_rows_total.",
        unit="short",
        queries=[
            Query("sum(rate(ase_exporter_statements_total{$selector}[$__rate_interval]))", "statements"),
            Query(
                "sum(rate(ase_exporter_rows_total{$selector}[$__rate_interval])) / 100", "hundreds of rows"
            ),
        ],
        empty=NO_SERVER,
        width=8,
    ),
    TimeSeries(
        title="Reads of our session (good: none from disk)",
        description="Buffers that the exporter's own session read, from cache and from disk. Source: "
        "monProcessActivity.",
        unit="si:/s",
        queries=[
            Query(
                "sum(rate(ase_exporter_session_logical_reads_total{$selector}[$__rate_interval]))",
                "from cache",
            ),
            Query(
                "sum(rate(ase_exporter_session_physical_reads_total{$selector}[$__rate_interval]))",
                "from disk",
            ),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Read less often, to keep the budget (good: none)",
        description="How many times its own interval a collector is read in, because reading all would cost the "
        "server more than its budget. What to do: a higher `budget`, or switch the dear collectors off. "
        "Source: ase_exporter_collector_stretch.",
        unit="short",
        queries=[Query("topk(10, ase_exporter_collector_stretch{$selector})", "{{instance}} {{collector}}")],
        empty="Every collector is read as often as asked for",
        width=24,
        height=5,
    ),
    Row("Truth of the counters, and series"),
    TimeSeries(
        title="Falls of raw counters by kind (good: few)",
        description="Times that a raw counter of the server fell, by how it was read: clear, restart, wrap, "
        "dip, reset. All are made good: rates stay true. Source: ase_exporter_falls_total.",
        unit="short",
        queries=[
            Query(
                "sum by (kind) (increase(ase_exporter_falls_total{$selector}[$__rate_interval]))", "{{kind}}"
            ),
        ],
        empty=NO_SERVER,
        width=8,
    ),
    TimeSeries(
        title="Series by server, the ten largest",
        description="Samples in a scrape, as Prometheus counts them. A step: a table grew; the series limit "
        "of a module bounds it. Source: scrape_samples_scraped.",
        unit="short",
        queries=[Query("topk(10, scrape_samples_scraped{$selector})", "{{instance}}")],
        empty="No target of Prometheus has this name as its instance",
        width=8,
    ),
    TimeSeries(
        title="Series cut off (good: 0)",
        description="Series that the limit of a module cut, so that a scrape stays bounded. What to do: a "
        "higher `series_limit`, or a smaller `top`. Source: ase_exporter_series_cut.",
        unit="short",
        queries=[Query("topk(10, ase_exporter_series_cut{$selector})", "{{instance}} {{collector}}")],
        empty="Nothing was cut off",
        width=8,
    ),
    Row("What is missing"),
    Table(
        title="Failing, and why (good: empty)",
        description="Targets that could not be reached or logged in to, and collectors that failed. Sources: "
        "ase_exporter_target_error, ase_exporter_collector_success.",
        queries=[rows("ase_exporter_target_error{$selector} == 1 or ase:collector_failing:info{$selector}")],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="reason", title="Error"),
            Column(name="collector", title="Collector"),
        ],
        empty="Nothing fails",
        width=10,
        height=9,
    ),
    Table(
        title="Not collected, and why (good: as expected)",
        description="Collectors that a server cannot give, with the reason: a role, a switch, a version. "
        "`ase-exporter check` prints the SQL that mends it. Source: ase_exporter_collector_available.",
        queries=[rows("ase:collector_unavailable:info{$selector}")],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="collector", title="Collector"),
            Column(name="reason", title="Reason"),
        ],
        empty="Everything is collected",
        width=14,
        height=9,
    ),
    common.latest_changes(),
]

EXPORTER = dashboard(
    uid="ase-exporter",
    title="ASE exporter health",
    description="Does the exporter read everything, how long does it take, and what does it cost the server?",
    panels=PANELS,
)
