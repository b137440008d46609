"""What is shown of a frame, as text: the lines at the top, and one table for each part of the server.

The same for the screen and for plain text, so that what a script greps is what people see.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rich.text import Text

from ase_exporter.top.figures import Blocked, Figures, Spinlock
from ase_exporter.top.frames import Frame, History
from ase_exporter.top.text import Glyphs, clock, count, duration, groups, level, percent, size, sparkline
from ase_exporter.top.verdict import ORDER, State, contended

Value = float | str
Align = Literal["left", "right"]

# By state. Each verdict begins with a word of its own, so colours only repeat it.
STYLES: Mapping[State, str] = {
    "down": "bold white on red",
    "unknown": "bold white on red",
    "spins": "bold white on red",
    "contended": "bold yellow",
    "waits": "bold yellow",
    "saturated": "bold yellow",
    "works": "bold green",
    "idle": "bold",
    "starting": "bold",
}
TREND = 9
# Sparklines are scaled to this contention at least, so that noise does not look like a mountain.
TREND_FLOOR = 0.1
FULL = 0.9


@dataclass(frozen=True, slots=True)
class Row:
    """key: tells rows apart from frame to frame. cells: as shown. values: to sort by, one for each cell."""

    key: str
    cells: tuple[str, ...]
    values: tuple[Value, ...]
    style: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """titles: of the columns, each with its alignment. empty: said in place of rows."""

    title: str
    titles: tuple[tuple[str, Align], ...]
    rows: tuple[Row, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A frame with its history, and the characters that the terminal can show."""

    frame: Frame
    history: History
    glyphs: Glyphs

    @property
    def figures(self) -> Figures:
        """The figures of the frame."""
        return self.frame.figures


def header(scene: Scene, width: int) -> list[Text]:
    """The lines above the tables, the verdict first, each at most `width` characters."""
    found = [Text(scene.frame.verdict.text, style=STYLES[scene.frame.verdict.state])]
    if scene.frame.sample.error:
        found.append(Text(_last_answer(scene)))
    else:
        found += [
            Text(_load(scene.figures)),
            _strip(scene, width),
            _hottest(scene.figures),
            Text(_others(scene)),
            Text(_cost(scene), style="dim"),
        ]
    if scene.frame.sample.changes:
        last = scene.frame.sample.changes[-1]
        found.append(Text(f"Changed {clock(last.at)}: {_short(last.describe())}", style="bold cyan"))
    for line in found:
        line.truncate(width, overflow="ellipsis" if scene.glyphs.levels[-1] == "█" else "crop")
    return found


def _last_answer(scene: Scene) -> str:
    answered = [each for each in scene.history.until(scene.frame) if not each.sample.error]
    since = f"Last answer at {clock(answered[-1].sample.at)}" if answered else "No answer yet"
    return f"{since}; tried again every {scene.frame.sample.interval:g} s, a refused login only after a pause"


def title(scene: Scene) -> str:
    """Which server, and when."""
    sample = scene.frame.sample
    parts = [sample.target, f"ASE {sample.version}" if sample.version else "", clock(sample.at)]
    engines = len(scene.figures.engines)
    parts.insert(2, f"{engines} engines" if engines else "")
    return "  ".join(part for part in parts if part)


def _short(described: str) -> str:
    return described.partition(" (seen at ")[0]


def _load(figures: Figures) -> str:
    window = f" over {figures.seconds:.0f} s" if figures.seconds else ""
    return (
        f"CPU busy {percent(figures.cpu_busy)}  spinning {percent(figures.spinning)}{window}"
        f"  {count(figures.transactions)} tx/s = {count(figures.throughput)} tx/s per CPU unit"
    )


def _strip(scene: Scene, width: int) -> Text:
    """One character for each engine, or for a group of them."""
    line = Text("Engines ")
    shares = [engine.busy for engine in scene.figures.engines]
    cells = groups(shares, width - len(line))
    for share in cells:
        line.append("?" if share is None else level(share, scene.glyphs), style=heat(share))
    if not cells:
        line.append("not known yet", style="dim")
    return line


def heat(share: float | None) -> str:
    """The colour of a busy share."""
    if share is None:
        return "dim"
    return "red" if share >= FULL else "yellow" if share >= 0.6 else "green"


def _hottest(figures: Figures) -> Text:
    spinlock = figures.hottest
    if spinlock is None:
        return Text(f"Hottest spinlock: {'none spins' if figures.spinlocks else 'not known'}")
    engines = f", {spinlock.engines:.1f} engines spin on it" if spinlock.engines is not None else ""
    style = "bold red" if contended(spinlock) else ""
    line = Text("Hottest spinlock: ")
    line.append(spinlock.name, style=style or "bold")
    line.append(f"  {percent(spinlock.contention)} contention{engines}", style=style)
    return line


def _others(scene: Scene) -> str:
    figures, parts = scene.figures, []
    if figures.blocked_processes is not None:
        longest = f" up to {duration(figures.longest_block)}" if figures.longest_block else ""
        parts.append(f"blocked {figures.blocked_processes:.0f}{longest}")
    if figures.open_transactions:
        oldest = figures.open_transactions[0]
        parts.append(f"oldest tx {duration(oldest.seconds)} ({oldest.database})")
    logs = [space for space in figures.spaces if space.use != "data"]
    if logs:
        parts.append(f"log {logs[0].used:.0%} ({logs[0].database})")
    temporary = [space for space in figures.spaces if space.database.startswith("tempdb")]
    if temporary:
        parts.append(f"tempdb {temporary[0].used:.0%}")
    return scene.glyphs.separator.join(parts)


def _cost(scene: Scene) -> str:
    cost, sample = scene.figures.cost, scene.frame.sample
    if cost.cpu is not None:
        used = f"{cost.cpu:.2%} of an engine"
    else:
        used = f"statements {percent(cost.statement_share)} of the time"
    budget = f", budget {cost.budget:.1%}" if cost.budget is not None else ""
    slower = f", {len(cost.stretched)} parts read less often" if cost.stretched else ""
    note = f", {sample.note}" if sample.note else ""
    return f"top itself: {used}{budget}{slower}, every {sample.interval:g} s{note}"


def _trend(scene: Scene, value: Callable[[Figures], float | None]) -> str:
    return sparkline(
        scene.history.trend(scene.frame, TREND, value), scene.glyphs, TREND_FLOOR, marks(scene, TREND)
    )


def marks(scene: Scene, length: int) -> list[bool]:
    """In which of the last frames a change was seen first."""
    frames = list(scene.history.until(scene.frame))[-length - 1 :]
    found = [len(after.sample.changes) > len(before.sample.changes) for before, after in pairwise(frames)]
    return found if len(frames) > length else [False, *found]


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
        "bold red" if contended(each) else "",
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
        yield Row(root, cells, (number, 0.0, first.blocker_login, "", state), "bold")
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
        Row(each.id, (clock(each.at), _short(each.describe())), (each.at, each.describe()))
        for each in reversed(scene.frame.sample.changes)
    ]
    return Table(
        "Changes", (("Seen", "left"), ("Change", "left")), tuple(rows), "No change since the first sample"
    )


def _missing(scene: Scene, collector: str, otherwise: str) -> str:
    reason = scene.frame.sample.missing.get(collector)
    if scene.frame.sample.error:
        return scene.frame.verdict.text
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
                each.verdict.state,
                percent(each.figures.cpu_busy),
                percent(each.figures.spinning),
                count(each.figures.throughput),
                count(each.figures.blocked_processes),
                _worst(each),
            ),
            (
                each.sample.target,
                ORDER.index(each.verdict.state),
                each.figures.cpu_busy or 0.0,
                each.figures.spinning or 0.0,
                each.figures.throughput or 0.0,
                each.figures.blocked_processes or 0.0,
                _worst(each),
            ),
            STYLES[each.verdict.state],
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
        ("Hottest spinlock, or error", "left"),
    )
    rows.sort(key=lambda row: (row.values[1], row.key))
    return Table("Servers", titles, tuple(rows), "Waiting for the first sample")


def _worst(each: Frame) -> str:
    if each.sample.error:
        return each.sample.error
    hottest = each.figures.hottest
    return f"{hottest.name} {percent(hottest.contention)}" if hottest else ""
