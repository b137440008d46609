"""Devices, I/O queues, space, backups, and the network."""

from dashboards import common, thresholds
from dashboards.common import NO_COLLECTOR, NO_MONITORING, NO_SPACE
from dashboards.layout import dashboard
from dashboards.panels import Column, Panel, Row, Table, TimeSeries
from dashboards.queries import Query, rows

NO_CONTROLLERS = "Not collected (yet): the collector is off, or not the threaded kernel (from 15.7)"

PANELS: list[Panel] = [
    Row("I/O by what it is for"),
    common.time_per_io("look at the devices below, then at the storage itself", width=12),
    TimeSeries(
        title="I/Os per second by kind",
        description="I/Os completed by what they are for. Source: monIOQueue.IOs.",
        unit="iops",
        queries=[Query("rate(ase_io_queue_ios_total{$selector}[$__rate_interval])", "{{instance}} {{io}}")],
        empty=NO_MONITORING,
    ),
    Row("Devices"),
    TimeSeries(
        title="Time per I/O of the busiest devices (good: under 30 ms)",
        description="Time that an I/O takes, of the ten devices with most I/Os. One slow device among "
        "equals: its path or disk; all slow: the storage. Source: monDeviceIO.IOTime.",
        unit="s",
        queries=[
            Query("topk(10, ase:device_top_latency:seconds_rate1m{$selector})", "{{instance}} {{device}}")
        ],
        thresholds=thresholds.LATENCY,
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="I/Os of the busiest devices (good: spread evenly)",
        description="I/Os per second of the ten devices with most. Source: monDeviceIO.Reads, APFReads, "
        "Writes.",
        unit="iops",
        queries=[Query("topk(10, ase:device_top_ios:rate1m{$selector})", "{{instance}} {{device}}")],
        empty=NO_MONITORING,
    ),
    TimeSeries(
        title="Waits for the device semaphore (good: 0)",
        description="Share of the I/Os that waited for a mirror semaphore, all devices. Source: "
        "monDeviceIO.DevSemaphoreWaits.",
        unit="percentunit",
        queries=[
            Query(
                "rate(ase_device_semaphore_waits_total{$selector}[$__rate_interval])"
                " / (rate(ase_device_semaphore_requests_total{$selector}[$__rate_interval]) > 0)",
                "{{instance}}",
            )
        ],
        maximum=1,
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="I/O controllers: outstanding (good: steady)",
        description="I/Os outstanding by controller. Source: monIOController.Pending.",
        unit="none",
        queries=[Query("sum by (controller) (ase_io_controller_pending{$selector})", "{{controller}}")],
        empty=NO_CONTROLLERS,
        width=8,
    ),
    TimeSeries(
        title="I/Os put off (good: 0)",
        description="I/Os that had to be put off for want of a structure: raise `disk i/o structures`, or "
        "the limit of the operating system. Source: monIOController.Deferred.",
        unit="si:/s",
        queries=[
            Query(
                "sum by (controller) (rate(ase_io_controller_deferred_total{$selector}[$__rate_interval]))",
                "{{controller}}",
            )
        ],
        empty=NO_CONTROLLERS,
        width=8,
    ),
    Row("Space and backups"),
    TimeSeries(
        title="Data space used (good: room to grow)",
        description="Used space of each database, the ten fullest; mixed holds data and log. What to do: "
        "alter database. Source: sysusages, curunreservedpgs.",
        unit="percentunit",
        queries=[
            Query(
                'topk(10, 1 - ase_database_free_bytes{$selector,use!="log"}'
                ' / (ase_database_size_bytes{$selector,use!="log"} > 0))',
                "{{instance}} {{database}}",
            )
        ],
        thresholds=[(0.9, "orange")],
        maximum=1,
        empty=NO_SPACE,
    ),
    TimeSeries(
        title="Age of the last full dump (good: under a day and a half)",
        description="Time since the last full dump of each database began, the ten oldest. Source: "
        "monOpenDatabases.BackupStartTime.",
        unit="s",
        queries=[
            Query(
                "topk(10, time() - ase_database_backup_timestamp_seconds{$selector})",
                "{{instance}} {{database}}",
            )
        ],
        thresholds=[(thresholds.PARAMETERS["log"]["backup_age_seconds"], "orange")],
        empty="No database was dumped since the server was started",
    ),
    Table(
        title="Databases (good: no log full, no dump failed)",
        description="State of each database; memory of tempdbs is in sp_sysmon. Sources: monOpenDatabases, "
        "sysusages.",
        queries=[
            rows("max by (instance, database) (ase_database_log_full{$selector})"),
            rows("max by (instance, database) (ase_database_suspended_processes{$selector})"),
            rows("max by (instance, database) (ase_database_backup_failed{$selector})"),
        ],
        columns=[
            Column(name="instance", title="Server"),
            Column(name="database", title="Database"),
            Column(name="Value #A", title="Log full", names={"0": ("no", "green"), "1": ("yes", "red")}),
            Column(name="Value #B", title="Suspended by it", thresholds=[(1, "red")]),
            Column(
                name="Value #C", title="Last dump failed", names={"0": ("no", "green"), "1": ("yes", "red")}
            ),
        ],
        sort=["Log full"],
        empty=NO_MONITORING,
        height=9,
    ),
    Row("Network"),
    TimeSeries(
        title="Bytes by direction",
        description="Bytes sent and received. Source: monNetworkIO.BytesSentMB, BytesReceivedMB.",
        unit="Bps",
        queries=[
            Query("rate(ase_network_bytes_total{$selector}[$__rate_interval])", "{{instance}} {{direction}}"),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Packets by direction",
        description="TDS packets sent and received. Source: monNetworkIO.PacketsSent, PacketsReceived.",
        unit="pps",
        queries=[
            Query(
                "rate(ase_network_packets_total{$selector}[$__rate_interval])", "{{instance}} {{direction}}"
            ),
        ],
        empty=NO_MONITORING,
        width=8,
    ),
    TimeSeries(
        title="Connections (good: under 90 % of limit)",
        description="Connections open, and `number of user connections`. Source: monState.Connections, "
        "syscurconfigs.",
        unit="none",
        queries=[
            Query("sum by (instance) (ase_connections{$selector})", "{{instance}} open"),
            Query(
                'sum by (instance) (ase_config_value{$selector,name="number of user connections"})',
                "{{instance}} configured",
            ),
        ],
        empty=NO_COLLECTOR,
        width=8,
    ),
    common.not_collected("devices|io_.*|device_.*|databases|database_space|tempdbs|network"),
]

STORAGE = dashboard(
    uid="ase-storage",
    title="ASE storage and network",
    description="How fast the devices answer, how full the databases are, and what goes over the network.",
    panels=PANELS,
)
