"""Kernel Utilization: engines, threads and I/O controllers, for the process kernel and the threaded kernel."""

from collections.abc import Sequence
from itertools import groupby

from ase_simulator.sysmon_report.page import Page, put, text_of
from ase_simulator.sysmon_report.sample import Controller, EngineSample, Sample, Thread

_STATES = ("user_busy", "system_busy", "io_busy", "idle")
_PROCESS_STATES = ("cpu_busy", "io_busy", "idle")
_LOADS = ("avg_1_min", "avg_5_min", "avg_15_min")
_TICK_EDGES = (39, 53, 65, 77)
_PROCESS_EDGES = (39, 50, 61)
_SECTION = "Kernel Utilization"
_BLOCKING_POOL = "syb_blocking_pool"


def kernel(page: Page, sample: Sample) -> None:
    """The whole section."""
    with page.section(_SECTION, ruled=not sample.sixteen):
        if sample.threaded:
            _threaded(page, sample)
        else:
            _process(page, sample)
    if sample.sixteen:
        _buckets(page, sample)


def _process(page: Page, sample: Sample) -> None:
    page.line()
    page.line("  Engine Busy Utilization        CPU Busy   I/O Busy       Idle")
    rule = "  ------------------------       --------   --------   --------"
    page.line(rule)
    with page.block("Engine Busy Utilization", show=False):
        rows = [_process_shares(engine) for engine in sample.engines]
        for engine, shares in zip(sample.engines, rows, strict=True):
            _percents(page, f"    Engine {engine.number}", shares, _PROCESS_STATES, _PROCESS_EDGES)
        page.line(rule)
        sums = [sum(column) for column in zip(*rows, strict=True)] or [0.0] * 3
        _summary(
            page, "  Summary           Total", "Average", sums, len(rows), _PROCESS_STATES, _PROCESS_EDGES, 18
        )
    page.line()
    with page.table("CPU Yields by Engine"):
        yields = {engine.number: engine.full_sleeps + engine.interrupted_sleeps for engine in sample.engines}
        for number, count in yields.items():
            page.row(4, f"Engine {number}", count, sum(yields.values()))
        page.rule()
        page.row(2, "Total CPU Yields", sum(yields.values()), share=False)
    _network_checks(page, sample)


def _network_checks(page: Page, sample: Sample) -> None:
    idle, blocking = sample.count("network_checks"), sample.count("network_checks_blocking")
    with page.block("Network Checks"):
        page.row(4, "Non-Blocking", idle, idle + blocking)
        page.row(4, "Blocking", blocking, idle + blocking)
    page.rule()
    page.row(2, "Total Network I/O Checks", idle + blocking, share=False)
    page.gauge(
        2,
        "Avg Net I/Os per Check",
        sample.count("packets_received") / (idle + blocking) if idle + blocking else 0.0,
        5,
    )
    page.line()
    checks, returning = sample.count("disk_checks"), sample.count("disk_checks_returning")
    with page.block("Disk I/O Checks"):
        page.row(4, "Total Disk I/O Checks", checks)
        page.row(4, "Checks Returning I/O", returning, checks)
        page.gauge(4, "Avg Disk I/Os Returned", sample.count("disk_ios") / returning if returning else 0.0, 5)
    page.line()


def _process_shares(engine: EngineSample) -> list[float]:
    return _shares((engine.user + engine.system, engine.io, engine.idle))


def _threaded(page: Page, sample: Sample) -> None:
    pools = [
        (name, list(group)) for name, group in groupby(sorted(sample.engines, key=_pool_of), key=_pool_of)
    ]
    page.line()
    page.line()
    _ticks(page, pools, len(sample.engines))
    _runnable(page, pools, len(sample.engines))
    _yields(page, pools, sample)
    _threads(page, sample)
    _faults(page, sample)
    for controller in sample.controllers:
        _controller(page, controller)
    page.line()
    with page.table("Blocking Call Activity"):
        page.nothing(2, "Total Requests")
    page.line()


def _pool_of(engine: EngineSample) -> str:
    return engine.pool


def _number(engine: EngineSample) -> int:
    return engine.number


def _ticks(page: Page, pools: Sequence[tuple[str, list[EngineSample]]], engines: int) -> None:
    page.line("  Engine Utilization (Tick %)   User Busy   System Busy    I/O Busy        Idle")
    page.rule(4)
    every: list[list[float]] = []
    with page.block("Engine Utilization (Tick %)", show=False):
        for name, members in pools:
            with page.block(f"ThreadPool : {name}"):
                rows = []
                for engine in sorted(members, key=_number):
                    rows.append(_shares((engine.user, engine.system, engine.io, engine.idle)))
                    _percents(page, f"   Engine {engine.number}", rows[-1], _STATES, _TICK_EDGES)
                every += rows
                if len(rows) > 1:
                    page.rule(4)
                    sums = [sum(column) for column in zip(*rows, strict=True)]
                    _summary(
                        page,
                        "  Pool Summary        Total",
                        "Average",
                        sums,
                        len(rows),
                        _STATES,
                        _TICK_EDGES,
                        20,
                    )
            page.line()
        if engines > 1:
            page.rule(4)
            sums = [sum(column) for column in zip(*every, strict=True)]
            _summary(page, "  Server Summary      Total", "Average", sums, engines, _STATES, _TICK_EDGES, 20)
    page.line()
    page.line()


def _runnable(page: Page, pools: Sequence[tuple[str, list[EngineSample]]], engines: int) -> None:
    page.line("  Average Runnable Tasks            1 min         5 min      15 min  % of total")
    page.rule(4)
    all_loads: list[Sequence[float]] = []
    with page.block("Average Runnable Tasks", show=False):
        for name, members in pools:
            ordered = sorted(members, key=_number)
            loads: list[Sequence[float]] = [(0.0, 0.0, 0.0), *(engine.loads for engine in ordered)]
            total = sum(load[0] for load in loads)
            with page.block(f"ThreadPool : {name}"):
                for label, load in zip(
                    ["Global Queue", *(f"Engine {e.number}" for e in ordered)], loads, strict=True
                ):
                    _loads(page, f"   {label}", label, load, 100 * load[0] / total if total else 0.0)
                _load_summary(page, "  Pool Summary        Total", loads, len(ordered))
            all_loads += loads
            page.line()
        if engines > 1:
            _load_summary(page, "  Server Summary      Total", all_loads, engines)
    page.line()
    page.line()


def _load_summary(page: Page, text: str, loads: Sequence[Sequence[float]], engines: int) -> None:
    if engines < 2:
        return
    sums = [sum(column) for column in zip(*loads, strict=True)]
    label = " ".join(text.split())
    page.rule(3)
    _loads(page, text, label, sums, None)
    _loads(
        page,
        " " * 20 + "Average",
        label.replace("Total", "Average"),
        [value / engines for value in sums],
        None,
    )


def _loads(page: Page, text: str, label: str, loads: Sequence[float], percent: float | None) -> None:
    line = text
    for value, edge, measure in zip(loads, (41, 55, 67), _LOADS, strict=True):
        printed = text_of(value, 12, 1)
        line = put(line, printed, edge)
        page.record(label, measure, printed)
    if percent is not None:
        printed = text_of(percent, 5, 1)
        line = put(line, printed, 77) + " %"
        page.record(label, "percent_of_total", printed)
    page.line(line)


def _yields(page: Page, pools: Sequence[tuple[str, list[EngineSample]]], sample: Sample) -> None:
    everything = sum(engine.full_sleeps + engine.interrupted_sleeps for engine in sample.engines)
    with page.table("CPU Yields by Engine"):
        for name, members in pools:
            total = sum(engine.full_sleeps + engine.interrupted_sleeps for engine in members)
            with page.block(f"ThreadPool : {name}"):
                for engine in sorted(members, key=_number):
                    with page.block(f"Engine {engine.number}", 3):
                        page.row(6, "Full Sleeps", engine.full_sleeps, total)
                        page.row(6, "Interrupted Sleeps", engine.interrupted_sleeps, total)
                if len(members) > 1:
                    page.rule()
                    page.row(2, "Pool Summary", total, share=False)
            page.line()
        if len(sample.engines) > 1:
            page.rule()
            page.row(2, "Total CPU Yields", everything, share=False)
    page.line()


def _threads(page: Page, sample: Sample) -> None:
    page.line("  Thread Utilization (OS %)     User Busy   System Busy        Idle")
    page.rule(3)
    measures, edges = ("user_busy", "system_busy", "idle"), (39, 53, 65)
    every: list[list[float]] = []
    with page.block("Thread Utilization (OS %)", show=False):
        for name, group in groupby(
            sorted(sample.threads, key=lambda t: (t.pool, t.number)), key=lambda t: t.pool
        ):
            members = list(group)
            rows = [_thread_shares(thread, sample.elapsed_ms or 1) for thread in members]
            every += rows
            if name == _BLOCKING_POOL and not any(thread.user_ms or thread.system_ms for thread in members):
                page.line(f"  ThreadPool : {name} : no activity during sample")
                page.line()
                continue
            with page.block(f"ThreadPool : {name}"):
                for thread, shares in zip(members, rows, strict=True):
                    label = f"Thread {thread.number:<4} ({thread.name})"
                    _percents(page, f"   {label}", shares, measures, edges)
                if len(rows) > 1:
                    page.rule()
                    sums = [sum(column) for column in zip(*rows, strict=True)]
                    _summary(
                        page, "  Pool Summary      Total", "Average", sums, len(rows), measures, edges, 18
                    )
            page.line()
        if every:
            page.rule()
            sums = [sum(column) for column in zip(*every, strict=True)]
            _summary(page, "  Server Summary    Total", "Average", sums, len(every), measures, edges, 18)
    page.line()
    units = sum(thread.user_ms + thread.system_ms for thread in sample.threads) / (sample.elapsed_ms or 1)
    sentence = "Adaptive Server threads are consuming"
    page.line(f"  {sentence} {units:.1f} CPU units.")
    page.record(sentence, "cpu_units", f"{units:.1f}")
    sentence = "Throughput (committed xacts per CPU unit)"
    rate = f"{sample.transactions / page.seconds / units:.1f}" if units else "n/a"
    page.line(f"  {sentence} : {rate}")
    page.record(sentence, "value", rate)
    page.line()
    page.line()


def _faults(page: Page, sample: Sample) -> None:
    minor = sum(thread.minor_faults for thread in sample.threads)
    major = sum(thread.major_faults for thread in sample.threads)
    if minor + major:
        with page.table("Page Faults at OS"):
            page.row(3, "Minor Faults", minor, minor + major)
            page.row(3, "Major Faults", major, minor + major)
            page.rule(4)
            page.row(3, "Total Page Faults", minor + major, minor + major)
        page.line()
    total = sum(thread.voluntary + thread.involuntary for thread in sample.threads)
    if not total:
        return
    with page.table("Context Switches at OS"):
        for name in sorted({thread.pool for thread in sample.threads}):
            members = [thread for thread in sample.threads if thread.pool == name]
            with page.block(f"ThreadPool : {name}"):
                page.row(3, "Voluntary", sum(thread.voluntary for thread in members), total)
                page.row(3, "Non-Voluntary", sum(thread.involuntary for thread in members), total)
        page.rule(4)
        page.row(3, "Total Context Switches", total, total)
    page.line()


def _controller(page: Page, controller: Controller) -> None:
    with page.table(f"{controller.name} Activity"):
        if not controller.polls:
            page.row(3, "Polls", 0, 0)
            return
        page.row(3, "Polls", controller.polls)
        page.row(3, "Polls Returning Events", controller.returning, controller.polls)
        if controller.returning:
            page.row(3, "Polls Returning Max Events", controller.returning_max, controller.polls)
            page.row(3, "Total Events", controller.events)
            page.gauge(3, "Events Per Poll", controller.events / controller.polls, 3)


def _buckets(page: Page, sample: Sample) -> None:
    page.line()
    with page.section("Bucketpool Activity"):
        page.line()
        page.line("  Bucketpool Name             BucketSize   Allocs     Frees    Found empty")
        page.line("  -------------------------  ----------- ---------- ---------- ---------- ")
        measures = ("bucket_size", "allocs", "frees", "found_empty")
        with page.block("Bucketpool Name", show=False):
            for bucket in sample.buckets:
                figures = (bucket.size, bucket.allocs, bucket.frees, bucket.empty)
                line = f"  {bucket.name}"
                for value, edge, measure in zip(figures, (38, 49, 60, 71), measures, strict=True):
                    text = text_of(value, 10)
                    line = put(line, text, edge)
                    page.record(f"{bucket.name} {bucket.size}", measure, text)
                page.line(line)
        page.line()


def _shares(ticks: Sequence[int]) -> list[float]:
    total = sum(ticks) or 1
    return [100.0 * value / total for value in ticks]


def _thread_shares(thread: Thread, elapsed_ms: int) -> list[float]:
    user, system = 100.0 * thread.user_ms / elapsed_ms, 100.0 * thread.system_ms / elapsed_ms
    return [user, system, max(100.0 - user - system, 0.0)]


def _percents(
    page: Page, text: str, values: Sequence[float], measures: Sequence[str], edges: Sequence[int]
) -> None:
    """A row of percentages; its label is what `text` says without its runs of blanks."""
    _percent_row(page, text, " ".join(text.split()), values, measures, edges)


def _percent_row(
    page: Page, text: str, label: str, values: Sequence[float], measures: Sequence[str], edges: Sequence[int]
) -> None:
    line = text
    for value, measure, edge in zip(values, measures, edges, strict=True):
        printed = text_of(value, 8, 1)
        line = put(line, printed, edge) + " %"
        page.record(label, measure, printed)
    page.line(line)


def _summary(
    page: Page,
    total: str,
    average: str,
    sums: Sequence[float],
    members: int,
    measures: Sequence[str],
    edges: Sequence[int],
    indent: int,
) -> None:
    label = " ".join(total.split())
    _percent_row(page, total, label, sums, measures, edges)
    averages = [value / max(members, 1) for value in sums]
    _percent_row(page, " " * indent + average, label.replace("Total", average), averages, measures, edges)
