"""Dashboard of the exporter: completeness, duration, cost to the server."""

from dashboards import common
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, Stat, TimeSeries, by_pattern
from dashboards.queries import Query, now
from dashboards.tables import Table, labels
from dashboards.thresholds import PARAMETERS

LIMITS = PARAMETERS["exporter"]

PANELS: list[Panel] = [
    common.SERVERS_UP,
    common.SERVERS_DOWN,
    Stat(
        title="Slowest scrape (good: < 5 s)",
        description="Duration of the slowest scrape of the chosen servers.",
        unit="s",
        queries=now("max(ase_exporter_scrape_duration_seconds{$selector})"),
        thresholds=[(LIMITS["slow_seconds"], "orange")],
        width=5,
    ),
    Stat(
        title="Failing collectors (good: 0)",
        description="Collectors that failed in the last scrape: see the exporter's log.",
        queries=now("count(ase:collector_failing:info{$selector}) or 0 * count(ase_up{$selector})"),
        thresholds=[(1, "orange")],
        width=5,
    ),
    Stat(
        title="Configuration (good: ok)",
        description="Whether the last reload of the configuration succeeded.",
        queries=now("min(ase_exporter_config_last_reload_successful)"),
        names={"0": ("invalid", "red"), "1": ("ok", "green")},
        empty="No exporter's own metrics are scraped (/metrics)",
        width=5,
    ),
    Row("Scrapes"),
    TimeSeries(
        title="Scrape duration, the ten slowest (good: under 5 s)",
        description="Duration of a scrape by server. A scrape that reaches its deadline returns what was "
        "read. What to do: give the slowest collectors (right) an interval, or disable them.",
        queries=Query("topk(10, ase_exporter_scrape_duration_seconds{$selector})"),
        thresholds=[(LIMITS["slow_seconds"], "orange")],
    ),
    TimeSeries(
        title="The slowest collectors",
        description="Duration of collectors, the slowest of the chosen servers that take over 0.1 s.",
        empty="No collector takes over 0.1 s",
        queries=Query("topk(3, ase:collector_top_duration:seconds{$selector})", "{{instance}} {{collector}}"),
    ),
    Row("What the exporter costs the server", across=3),
    TimeSeries(
        title="CPU of the exporter's session (good: < 10 %)",
        description="CPU seconds per second used by the exporter's session in the server. What to do: longer "
        "scrape intervals, fewer collectors.",
        unit="percentunit",
        queries=Query("topk(20, rate(ase_exporter_session_cpu_seconds_total{$selector}[$__rate_interval]))"),
        thresholds=[(LIMITS["cpu"], "orange")],
        overrides=[by_pattern(".*", custom__axisSoftMax=2 * LIMITS["cpu"])],
    ),
    TimeSeries(
        title="Read less often for the budget (good: none)",
        unit="short",
        description="Factor by which a collector's interval is extended, because reading all collectors "
        "would exceed the budget. What to do: raise `budget`, or disable expensive collectors.",
        queries=Query("topk(10, ase_exporter_collector_stretch{$selector})", "{{instance}} {{collector}}"),
        empty="Every collector is read at its configured interval",
    ),
    TimeSeries(
        title="Age of the last sp_sysmon (good: under 2 h)",
        description="Time since the last sample of sp_sysmon ended; the board of details shows its figures.",
        queries=Query("topk(10, ase_sysmon_sample_age_seconds{$selector})"),
        thresholds=[(LIMITS["sysmon_age_seconds"], "orange")],
        empty="Not collected: sp_sysmon is off (targets: sysmon: in the configuration; needs sa_role)",
    ),
    Row("Counters and series", across=3),
    TimeSeries(
        title="Decreases of raw counters by kind (good: few)",
        unit="short",
        description="Raw counter decreases, by interpretation. clear, dip, reset, restart and wrap are "
        "compensated; not_young, other_server and start_moved leave a gap.",
        queries=Query(
            "sum by (kind) (increase(ase_exporter_resets_total{$selector}[$__rate_interval]))", "{{kind}}"
        ),
    ),
    TimeSeries(
        title="Series by server, the ten largest",
        description="Samples per scrape, as counted by Prometheus. A step: a table grew; the module's series "
        "limit bounds it.",
        queries=Query("topk(10, scrape_samples_scraped{$selector})"),
        empty="No target of Prometheus has this name as its instance",
    ),
    TimeSeries(
        title="Series dropped (good: 0)",
        unit="short",
        description="Series dropped by the module's limit, which bounds a scrape. What to do: a higher "
        "`series_limit`, or a smaller `top`.",
        queries=Query("topk(10, ase_exporter_series_cut{$selector})", "{{instance}} {{collector}}"),
        empty="No series was dropped",
    ),
    Row("What is missing"),
    Table(
        title="Failures, and why (good: empty)",
        description="Targets without a connection or login, and collectors that failed, ten of a server at "
        "most.",
        rows="ase_exporter_target_error{$selector} == 1"
        " or topk by (job, instance) (10, ase:collector_failing:info{$selector})",
        columns=labels(instance="Server", reason="Error", collector="Collector"),
        empty="No failures",
        width=10,
        height=9,
    ),
    common.not_collected(width=14, height=9),
]

EXPORTER = dashboard(
    uid="ase-exporter",
    title="ASE exporter health",
    description="Whether the exporter collects everything, how long scrapes take, and what they cost the "
    "server.",
    panels=PANELS,
)
