"""Recovery Management, Disk I/O Management and Network I/O Management."""

from collections.abc import Callable

from ase_simulator.sysmon_report.page import Page
from ase_simulator.sysmon_report.sample import DeviceSample, EngineSample, Sample

_LIMITS = ("Disk I/O Structures", "Server Config Limit", "Engine Config Limit", "Operating System Limit")


def recovery(page: Page, sample: Sample) -> None:
    """Recovery Management."""
    normal, free = sample.count("checkpoints"), sample.count("free_checkpoints")
    with page.section("Recovery Management"):
        page.line()
        with page.table("Checkpoints"):
            page.row(4, "# of Normal Checkpoints", normal, normal + free)
            page.row(4, "# of Free Checkpoints", free, normal + free)
            page.rule()
            page.row(2, "Total Checkpoints", normal + free, share=False)
        if normal:
            seconds = f"{sample.count('checkpoint_ms') / 1000 / normal:.5f}"
            page.line(f"  Avg Time per Normal Chkpt  {seconds:>12} seconds")
            page.record("Avg Time per Normal Chkpt", "seconds", seconds)
        page.line()


def disks(page: Page, sample: Sample) -> None:
    """Disk I/O Management: limits, completions, each device."""
    with page.section("Disk I/O Management"):
        page.line()
        with page.table("Max Outstanding I/Os"):
            page.gauge(4, "Server", sample.count("ios_outstanding"))
            for engine in sample.engines:
                page.gauge(4, f"Engine {engine.number}", engine.outstanding)
        page.line()
        with page.block("I/Os Delayed by"):
            for label in _LIMITS:
                page.gauge(4, label, 0)
        page.line()
        page.line()
        page.row(2, "Total Requested Disk I/Os", sample.count("disk_ios"), share=False)
        page.line()
        completed = _completed(page, sample)
        page.line("  Device Activity Detail")
        page.line("  ----------------------")
        page.line()
        with page.block("Device Activity Detail", show=False):
            for device in sample.devices:
                _device(page, device, completed)


def _completed(page: Page, sample: Sample) -> int:
    """Prints the completed I/Os; returns how many they are, of which each device's total is a share."""
    completed = sample.count("disk_ios")
    if not sample.threaded:
        completed = sum(engine.async_ios for engine in sample.engines)
    with page.block("Completed Disk I/O's"):
        with page.block("Asynchronous I/O's", 4):
            if not completed:
                page.nothing(6, "Total Completed I/Os")
            elif sample.threaded:
                page.row(6, "Total Completed I/Os", completed, completed)
            else:
                for engine in sample.engines:
                    page.row(6, f"Engine {engine.number}", engine.async_ios, completed)
        with page.block("Synchronous I/O's", 4):
            page.nothing(6, "Total Completed I/Os")
    page.rule()
    page.row(2, "Total Completed I/Os", completed, share=False)
    page.line()
    page.line()
    return completed


def _device(page: Page, device: DeviceSample, everything: int) -> None:
    total = device.apf + device.reads + device.writes
    page.line("  Device:")
    page.line(f"    {device.path}")
    page.line(f"    {device.name:<25}     per sec      per xact       count  % of total")
    page.rule(4)
    with page.block(device.name, show=False):
        if not total:
            page.nothing(2, "Total I/Os")
        else:
            with page.block("Reads", 4):
                page.row(6, "APF", device.apf, total)
                page.row(6, "Non-APF", device.reads, total)
            page.row(4, "Writes", device.writes, total)
        page.rule(4)
        page.row(2, "Total I/Os", total, everything)
    page.line()
    page.line()
    page.line("  " + "-" * 77)
    page.line()


def network(page: Page, sample: Sample) -> None:
    """Network I/O Management; per engine in the process kernel."""
    with page.section("Network I/O Management", ruled=False):
        page.line()
        received = sum(engine.received for engine in sample.engines)
        sent = sum(engine.sent for engine in sample.engines)
        if sample.threaded:
            with page.table("Network I/O Requests"):
                page.row(2, "Total Network I/O Requests", received + sent)
                page.row(2, "Network I/Os Delayed", 0, received + sent)
            page.line()
            _direction(page, sample, "Receive", "Rec'd", lambda e: e.received, lambda e: e.bytes_received)
            _direction(page, sample, "Send", "Sent", lambda e: e.sent, lambda e: e.bytes_sent)
            return
        page.row(2, "Total Network I/O Requests", received + sent)
        with page.block("Total Network I/O Requests", show=False):
            page.row(4, "Network I/Os Delayed", 0, received + sent)
        page.line()
        page.line()
        _by_engine(
            page, sample, "Total TDS Packets Received", "Total TDS Packets Rec'd", lambda e: e.received
        )
        _by_engine(page, sample, "Total Bytes Received", "Total Bytes Rec'd", lambda e: e.bytes_received)
        size = sum(engine.bytes_received for engine in sample.engines)
        with page.block("Total Bytes Received", show=False):
            _average(page, 3, "Avg Bytes Rec'd per Packet", size / (received or 1))
        page.line("  " + "-" * 77)
        page.line()
        _by_engine(page, sample, "Total TDS Packets Sent", "Total TDS Packets Sent", lambda e: e.sent)
        _by_engine(page, sample, "Total Bytes Sent", "Total Bytes Sent", lambda e: e.bytes_sent)
        _average(
            page, 2, "Avg Bytes Sent per Packet", sum(e.bytes_sent for e in sample.engines) / (sent or 1)
        )


Count = Callable[[EngineSample], int]


def _direction(page: Page, sample: Sample, name: str, past: str, packets: Count, octets: Count) -> None:
    count, size = sum(map(packets, sample.engines)), sum(map(octets, sample.engines))
    with page.table(f"Network {name} Activity", columns=3):
        page.row(2, f"Total TDS Packets {past}", count, share=False)
        page.row(2, f"Total Bytes {past}", size, share=False)
        if count:
            page.gauge(2, f"Avg Bytes {past} per Packet", size / count)
            page.lines[-1] = page.lines[-1].removesuffix("n/a").rstrip()


def _by_engine(page: Page, sample: Sample, name: str, total: str, count: Count) -> None:
    counts = [count(engine) for engine in sample.engines]
    with page.table(name):
        if any(counts):
            for engine, value in zip(sample.engines, counts, strict=True):
                page.row(4, f"Engine {engine.number}", value, sum(counts))
            page.rule()
        page.row(2, total, sum(counts), share=False)
    page.line()


def _average(page: Page, indent: int, label: str, size: float) -> None:
    page.line()
    page.gauge(indent, label, size)
    page.line()
