"""Dashboard of replication: Rep Agent and its scanners, senders, stream, memory and synchronous commits."""

from dashboards import common, thresholds
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries, right_axis
from dashboards.queries import Query, rate

NO_AGENT = "Not collected (yet): no database is replicated, or the collectors rep_* are off (opt-in)"
BY_DATABASE = "{{instance}} {{database}}"


def _graph(
    title: str,
    description: str,
    metric: str,
    *,
    by: str = "",
    unit: str = "count:/s",
) -> TimeSeries:
    """Return a graph of the rate of a counter by database, and by the label `by`."""
    labels = ", ".join(filter(None, ("instance", "database", by)))
    return TimeSeries(
        title=title,
        description=description,
        unit=unit,
        queries=[
            Query(
                f"topk(20, sum by ({labels}) ({rate(metric)}))",
                f"{BY_DATABASE} {{{{{by}}}}}" if by else BY_DATABASE,
            )
        ],
        empty=NO_AGENT,
        width=8,
    )


PANELS: list[Panel] = [
    Row("Does replication keep up?"),
    TimeSeries(
        title="Messages in the sender's queue (good: few)",
        description="Messages that wait to be sent to Replication Server. A queue that grows: the network or "
        "Replication Server is slow, and the log cannot be truncated. Source: monRepSenders.MessagesInQueue.",
        unit="short",
        queries=[Query("topk(20, ase_rep_sender_queue_messages{$selector})", BY_DATABASE)],
        thresholds=[(thresholds.PARAMETERS["replication"]["queued_messages"], "orange")],
        empty=NO_AGENT,
        width=8,
    ),
    TimeSeries(
        title="Log records: scanned and processed",
        description="Log records that the scanner read, and those that it sent on. None, while the server "
        "commits: replication stands still. Source: monRepLogActivity.LogRecordsScanned, LogRecordsProcessed.",
        unit="count:/s",
        queries=[
            Query(f"topk(10, {rate('ase_rep_log_records_scanned_total')})", f"{BY_DATABASE} scanned"),
            Query(f"topk(10, {rate('ase_rep_log_records_processed_total')})", f"{BY_DATABASE} processed"),
        ],
        empty=NO_AGENT,
        width=8,
    ),
    TimeSeries(
        title="Truncation points (good: confirmed as requested)",
        description="Truncation points requested from Replication Server, and moved. Without moves the log fills. "
        "Source: monRepScanners.TruncationPointRequested, TruncationPointMoved.",
        unit="count:/s",
        queries=[
            Query(
                f"topk(10, {rate('ase_rep_truncation_points_requested_total')})", f"{BY_DATABASE} requested"
            ),
            Query(f"topk(10, {rate('ase_rep_truncation_points_moved_total')})", f"{BY_DATABASE} moved"),
        ],
        empty=NO_AGENT,
        width=8,
    ),
    _graph(
        "Bytes sent",
        "Bytes sent to Replication Server. Source: monRepSenders.NumberOfBytesSent.",
        "ase_rep_sender_sent_bytes_total",
        unit="Bps",
    ),
    TimeSeries(
        title="Commands and retries (good: no retries)",
        description="Commands processed by the sender; right axis: sends that were tried again. Source: "
        "monRepSenders.NumberOfCmdsProcessed, NumberOfRetries.",
        unit="count:/s",
        queries=[
            Query(f"sum({rate('ase_rep_sender_commands_total')})", "commands"),
            Query(f"sum({rate('ase_rep_sender_retries_total')})", "retries"),
        ],
        overrides=[right_axis("retries", "count:/s")],
        empty=NO_AGENT,
        width=8,
    ),
    _graph(
        "Replicated operations",
        "Operations by kind. Source: monRepLogActivity.Updates, Inserts, Deletes, StoredProcedures and others.",
        "ase_rep_log_operations_total",
        by="operation",
    ),
    Row("Where the time goes"),
    _graph(
        "Time of the scanner by part",
        "Seconds per second; parts overlap. Source: monRepScannersTotalTime.",
        "ase_rep_scanner_seconds_total",
        by="part",
        unit="short",
    ),
    _graph(
        "Waits for the sender (good: few)",
        "Times that the scanner waited for the sender: the network or Replication Server limits. Source: "
        "monRepScannersTotalTime.WaitsOnSenderThread.",
        "ase_rep_scanner_waits_on_sender_total",
    ),
    _graph(
        "Yields on a full queue (good: few)",
        "Times that the scanner yielded because the sender's queue was full. Source: "
        "monRepScannersTotalTime.YieldsOnFullQueue.",
        "ase_rep_scanner_yields_full_queue_total",
    ),
    Row("Stream replication and synchronous commits (from 16.0)"),
    _graph(
        "Stream: bytes sent",
        "Bytes sent by stream replication. Source: monRepStreamStatistics.TotalMbytesSentForStream.",
        "ase_rep_stream_sent_bytes_total",
        unit="Bps",
    ),
    _graph(
        "Stream: sleeps of the scanner by cause",
        "Times that the scanner slept by what it waited for. Source: monRepStreamStatistics.",
        "ase_rep_stream_scanner_sleeps_total",
        by="cause",
    ),
    _graph(
        "Synchronous commits: time by part",
        "Seconds per second that commits waited for the replicate, by part. Source: "
        "monRepSyncTaskStatistics.",
        "ase_rep_sync_seconds_total",
        by="part",
        unit="short",
    ),
    TimeSeries(
        title="Memory of Rep Agent by use",
        description="Memory by use. Source: monRepMemoryStatistics.",
        unit="bytes",
        queries=[
            Query("topk(20, ase_rep_memory_bytes{$selector})", f"{BY_DATABASE} {{{{use}}}}"),
        ],
        empty=NO_AGENT,
        width=8,
    ),
    _graph(
        "Waits for memory (good: 0)",
        "Times that Rep Agent waited for memory. Source: monRepMemoryStatistics.NumberOfWaitsOnMemory.",
        "ase_rep_memory_waits_total",
    ),
    _graph(
        "Statements not replicated as SQL, by cause",
        "Statements that were replicated row by row, by cause. Source: monSQLRepMisses.",
        "ase_rep_sql_misses_total",
        by="cause",
    ),
    common.not_collected("rep_.*"),
]

REPLICATION = dashboard(
    uid="ase-replication",
    title="ASE replication",
    description="Whether Rep Agent keeps up with the log, and what holds it up.",
    panels=PANELS,
)
