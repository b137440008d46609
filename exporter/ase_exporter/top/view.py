"""The tables: one for each part of the server.

The same for the screen and for plain text, so that what a script greps is what people see.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ase_exporter.top.figures import Blocked, Figures, Spinlock
from ase_exporter.top.frames import Frame
from ase_exporter.top.samples import on_screen
from ase_exporter.top.scene import FULL, STYLES, Align, Row, Scene, Table, marks, short
from ase_exporter.top.text import Glyphs, clock, count, duration, percent, size, sparkline

TREND = 9
# Sparklines are scaled to this contention at least, so that noise does not look like a mountain.
TREND_FLOOR = 0.1


def _trend(scene: Scene, value: Callable[[Figures], float | None]) -> str:
    return sparkline(
        scene.history.trend(scene.frame, TREND, value), scene.glyphs, TREND_FLOOR, marks(scene, TREND)
    )


def spinlocks(scene: Scene) -> Table:
    """By CPU burnt."""
    titles: tuple[tuple[str, Align], ...] = (
        ("Spinlock", "left"),
        ("CPU", "right"),
        ("Contention", "right"),
        ("Grabs/s", "right"),
        ("Spins/s", "right"),
        ("Trend", "left"),
    )
    return Table(
        "Spinlocks",
        titles if len(scene.history) > 1 else titles[:-1],
        tuple(_spinlock(scene, each) for each in scene.figures.spinlocks),
        _missing(scene, "spinlocks", "No spinlock spins"),
    )


def _spinlock(scene: Scene, each: Spinlock) -> Row:
    def contention(figures: Figures) -> float | None:
        return next((s.contention for s in figures.spinlocks if s.name == each.name), None)

    cells = (
        each.name,
        percent(each.cpu),
        percent(each.contention),
        count(each.grabs),
        count(each.spins),
        *([_trend(scene, contention)] if len(scene.history) > 1 else []),
    )
    return Row(
        each.name,
        cells,
        (each.name, each.cpu or 0.0, each.contention, each.grabs, each.spins, each.contention)[: len(cells)],
        "bold red" if each.contended else "",
    )


def caches(scene: Scene) -> Table:
    """The most contended first."""
    rows = [
        Row(
            each.name,
            (
                each.name,
                percent(each.contention),
                percent(each.hits),
                count(each.searches),
                count(each.physical_reads),
                count(each.stalls),
                size(each.size),
            ),
            (
                each.name,
                each.contention or 0.0,
                each.hits or 0.0,
                each.searches or 0.0,
                each.physical_reads or 0.0,
                each.stalls or 0.0,
                each.size or 0.0,
            ),
            "bold yellow" if each.stalls else "",
        )
        for each in scene.figures.caches
    ]
    titles = ("Contention", "Hits", "Searches/s", "Reads/s", "Stalls/s", "Size")
    return Table(
        "Caches",
        (("Cache", "left"), *((name, "right") for name in titles)),
        tuple(rows),
        _missing(scene, "data_caches", "No data caches"),
    )


def waits(scene: Scene) -> Table:
    """By time."""
    rows = [
        Row(
            each.event,
            (each.event, f"{each.seconds:.2f}", count(each.waits), duration(each.each)),
            (each.event, each.seconds, each.waits, each.each or 0.0),
        )
        for each in scene.figures.waits
    ]
    titles = ("Seconds/s", "Waits/s", "Each")
    return Table(
        "Waits",
        (("Wait event", "left"), *((name, "right") for name in titles)),
        tuple(rows),
        _missing(scene, "waits", "No task waits"),
    )


def blocking(scene: Scene) -> Table:
    """Chains: each blocker above those it blocks."""
    return Table(
        "Blocking",
        (
            ("Process", "left"),
            ("Blocked", "right"),
            ("Login", "left"),
            ("Database", "left"),
            ("State", "left"),
        ),
        tuple(_chains(scene.figures.blocked, scene.glyphs)),
        _missing(scene, "blocking", "Nobody is blocked"),
    )


def _chains(blocked: Sequence[Blocked], glyphs: Glyphs) -> Iterator[Row]:
    below: dict[str, list[Blocked]] = {}
    for each in blocked:
        below.setdefault(each.blocked_by, []).append(each)
    waiting = {each.spid for each in blocked}
    roots = [spid for spid in below if spid not in waiting]
    # In a deadlock that is not resolved yet everybody waits: begin with the longest.
    roots += [] if roots else [blocked[0].blocked_by] if blocked else []
    seen: set[str] = set()
    for root in sorted(roots, key=lambda spid: -_size(spid, below, frozenset())):
        first = below[root][0]
        state = f"{first.blocker_state} {first.blocker_application}".strip()
        number = _size(root, below, frozenset())
        cells = (f"spid {root} blocks {number}", "", first.blocker_login, "", state)
        yield Row(f"{root} blocks", cells, (number, 0.0, first.blocker_login, "", state), "bold")
        yield from _below(root, below, 1, seen, glyphs)


def _size(spid: str, below: Mapping[str, Sequence[Blocked]], above: frozenset[str]) -> int:
    if spid in above:
        return 0
    return sum(1 + _size(each.spid, below, above | {spid}) for each in below.get(spid, ()))


def _below(
    spid: str, below: Mapping[str, Sequence[Blocked]], depth: int, seen: set[str], glyphs: Glyphs
) -> Iterator[Row]:
    for each in below.get(spid, ()):
        if each.spid in seen:
            continue
        seen.add(each.spid)
        indent = "  " * min(depth - 1, 6) + glyphs.branch
        cells = (f"{indent}{each.spid}", duration(each.seconds), each.login, each.database, "blocked")
        yield Row(each.spid, cells, (cells[0], each.seconds, each.login, each.database, "blocked"))
        yield from _below(each.spid, below, depth + 1, seen, glyphs)


def transactions(scene: Scene) -> Table:
    """The oldest open transaction of each database, the oldest first."""
    rows = [
        Row(
            each.database,
            (each.database, duration(each.seconds), each.spid, each.login, each.application, each.state),
            (each.database, each.seconds, each.spid, each.login, each.application, each.state),
        )
        for each in scene.figures.open_transactions
    ]
    titles: tuple[tuple[str, Align], ...] = (
        ("Database", "left"),
        ("Open", "right"),
        ("Spid", "right"),
        ("Login", "left"),
        ("Application", "left"),
        ("State", "left"),
    )
    empty = _missing(scene, "oldest_transactions", "No open transaction keeps a log from being truncated")
    return Table("Transactions", titles, tuple(rows), empty)


def devices(scene: Scene) -> Table:
    """By I/Os."""
    rows = [
        Row(
            each.name,
            (each.name, count(each.ios), count(each.reads), count(each.writes), duration(each.latency)),
            (each.name, each.ios, each.reads, each.writes, each.latency or 0.0),
        )
        for each in scene.figures.devices
    ]
    titles = ("I/Os/s", "Reads/s", "Writes/s", "Each")
    return Table(
        "Devices",
        (("Device", "left"), *((name, "right") for name in titles)),
        tuple(rows),
        _missing(scene, "devices", "No device"),
    )


def space(scene: Scene) -> Table:
    """Logs and temporary databases before the others, the fullest first."""

    def rank(each: Row) -> tuple[bool, float]:
        first = each.cells[1] != "data" or each.cells[0].startswith("tempdb")
        return not first, -float(each.values[2])

    rows = [
        Row(
            f"{each.database} {each.use}",
            (
                each.database,
                each.use,
                percent(each.used),
                size(each.free),
                size(each.size),
                "log full" if each.database in scene.figures.logs_full and each.use != "data" else "",
            ),
            (each.database, each.use, each.used, each.free, each.size, ""),
            "bold red" if each.used >= FULL else "",
        )
        for each in scene.figures.spaces
    ]
    titles: tuple[tuple[str, Align], ...] = (
        ("Database", "left"),
        ("Use", "left"),
        ("Used", "right"),
        ("Free", "right"),
        ("Size", "right"),
        ("", "left"),
    )
    empty = _missing(scene, "database_space", "No space is known")
    return Table("Space", titles, tuple(sorted(rows, key=rank)), empty)


def changes(scene: Scene) -> Table:
    """The newest first."""
    rows = [
        Row(each.id, (clock(each.at), short(each.describe())), (each.at, each.describe()))
        for each in reversed(scene.frame.sample.changes)
    ]
    return Table(
        "Changes", (("Seen", "left"), ("Change", "left")), tuple(rows), "No change since the first sample"
    )


def _missing(scene: Scene, collector: str, otherwise: str) -> str:
    reason = scene.frame.sample.missing.get(collector)
    if scene.frame.sample.error:
        return scene.frame.diagnosis.sentence
    if reason:
        return f"Not read: {reason} (ase-exporter check says how to fix it)"
    return otherwise if scene.figures.seconds else "Waiting for a few seconds of samples"


SECTIONS: Mapping[str, Callable[[Scene], Table]] = {
    "spinlocks": spinlocks,
    "caches": caches,
    "waits": waits,
    "blocking": blocking,
    "transactions": transactions,
    "devices": devices,
    "space": space,
    "changes": changes,
}


def servers(frames: Sequence[Frame]) -> Table:
    """Many servers, one line each, the worst first."""
    rows = [
        Row(
            each.sample.target,
            (
                each.sample.target,
                each.diagnosis.word,
                percent(each.figures.cpu_busy),
                percent(each.figures.spinning),
                count(each.figures.throughput),
                "-" if each.figures.blocked_processes is None else f"{each.figures.blocked_processes:.0f}",
                _worst(each),
            ),
            (
                each.sample.target,
                -each.diagnosis.rank,
                each.figures.cpu_busy or 0.0,
                each.figures.spinning or 0.0,
                each.figures.throughput or 0.0,
                each.figures.blocked_processes or 0.0,
                _worst(each),
            ),
            STYLES[each.diagnosis.level],
        )
        for each in frames
    ]
    titles: tuple[tuple[str, Align], ...] = (
        ("Server", "left"),
        ("State", "left"),
        ("CPU busy", "right"),
        ("Spinning", "right"),
        ("Tx/s/CPU", "right"),
        ("Blocked", "right"),
        ("About, or error", "left"),
    )
    rows.sort(key=lambda row: (row.values[1], row.key))
    return Table("Servers", titles, tuple(rows), "Waiting for the first sample")


def _worst(each: Frame) -> str:
    """What the first finding is about, a spinlock with its contention, or the error."""
    if each.sample.error:
        return each.sample.error
    subject = each.diagnosis.findings[0].subject if each.diagnosis.findings else None
    if subject is None:
        return ""
    name = on_screen(subject.name)
    spinlocks = {spinlock.name: spinlock for spinlock in each.figures.spinlocks}
    if subject.kind == "spinlock" and subject.name in spinlocks:
        # The state says that it is a spinlock: 80 columns have no place for both.
        return f"{name} {percent(spinlocks[subject.name].contention)}"
    return f"{subject.kind} {name}"
