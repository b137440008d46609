"""The lines above the tables: which server, the verdict, and what matters most."""

from collections.abc import Iterator

from rich.text import Text

from ase_exporter.diagnosis.account import Account
from ase_exporter.diagnosis.catalogue import catalogue, threshold
from ase_exporter.diagnosis.diagnose import Diagnosis, Finding
from ase_exporter.top.figures import Figures
from ase_exporter.top.frames import STYLES, Scene
from ase_exporter.top.text import clock, groups, level
from ase_exporter.views.figures import counted, short, shown

# Findings beside the first, and parts of the account, that are shown.
MAX_FINDINGS = 3
MAX_PARTS = 6
# Share of the account below which a part would be shown as 0%.
LEAST_PART = 0.005


def header(scene: Scene) -> list[Text]:
    """The lines above the tables, the verdict first, each at most as wide as the scene."""
    diagnosis = scene.frame.diagnosis
    first = _told(diagnosis.findings[0]) if diagnosis.findings else diagnosis.sentence
    found = [Text(first, style=STYLES[diagnosis.level])]
    if scene.frame.sample.error:
        since = "No answer yet" if scene.answered is None else f"Last answer at {clock(scene.answered)}"
        pause = f"tried again every {scene.frame.sample.interval:g} s, a refused login only after a pause"
        found.append(Text(f"{since}; {pause}"))
    else:
        found += [Text(line) for line in _more(diagnosis)]
        found += [
            Text(_account(diagnosis.account)),
            Text(_load(scene)),
            _strip(scene),
            _hottest(scene.figures),
            Text(_others(scene)),
            Text(_cost(scene), style="dim"),
        ]
    if scene.frame.sample.changes:
        last = scene.frame.sample.changes[-1]
        found.append(Text(f"Changed {clock(last.at)}: {last.brief}", style="bold cyan"))
    for line in found:
        line.truncate(scene.width, overflow="ellipsis" if scene.glyphs.levels[-1] == "█" else "crop")
    return found


def _more(diagnosis: Diagnosis) -> Iterator[str]:
    """A line for each further finding, and one for what could not be judged."""
    for finding in diagnosis.findings[1 : MAX_FINDINGS + 1]:
        yield f"  also {_told(finding)}"
    if diagnosis.not_judged:
        yield f"  {diagnosis.not_judged}"


def _told(finding: Finding) -> str:
    """The finding, and what it explained when nothing was wrong."""
    return finding.sentence + (
        f"; {shown(finding.usual, 'ratio', digits=2)} before" if finding.usual is not None else ""
    )


def _account(account: Account) -> str:
    """Where the sessions' time goes, the largest parts first."""
    titles = catalogue().account
    parts = sorted(account.parts.items(), key=lambda part: -part[1])
    shares = [
        f"{titles[name].title} {shown(account.share(name), 'ratio', digits=2) if account.whole else shown(seconds)}"
        for name, seconds in parts
        if seconds >= LEAST_PART * account.sessions > 0
    ]
    unknown = [f"{titles[name].title} not known" for name in account.unknown]
    what = "Time goes to" if account.whole else "Time goes to, in sessions"
    return f"{what}: {', '.join([*shares[:MAX_PARTS], *unknown[:2]] or ['not known yet'])}"


def title(scene: Scene) -> str:
    """Which server, and when."""
    sample = scene.frame.sample
    parts = [sample.target, f"ASE {sample.version}" if sample.version else "", clock(sample.at)]
    engines = len(scene.figures.engines)
    parts.insert(2, counted(engines, "engine") if engines else "")
    return "  ".join(part for part in parts if part)


def baseline(scene: Scene) -> str:
    if scene.frame.sample.error:
        return ""
    return f"  compared with {scene.frame.usual}" if scene.frame.usual else "  no baseline yet"


def _load(scene: Scene) -> str:
    figures, measures = scene.figures, scene.frame.diagnosis.measures
    window = f" over {figures.seconds:.0f} s" if figures.seconds else ""
    transactions, throughput = (short(measures[name].value) for name in ("transactions", "throughput"))
    return (
        f"CPU busy {shown(figures.cpu_busy, 'ratio')}  spinning {shown(figures.spinning, 'ratio')}{window}"
        f"  {transactions} tx/s = {throughput} tx/s per CPU unit"
    )


def _strip(scene: Scene) -> Text:
    """One character for each engine, or for a group of them."""
    line = Text("Engines ")
    shares = [engine.busy for engine in scene.figures.engines]
    cells = groups(shares, scene.width - len(line))
    for share in cells:
        line.append("?" if share is None else level(share, scene.glyphs), style=heat(share))
    if not cells:
        line.append("not known yet", style="dim")
    return line


def heat(share: float | None) -> str:
    if share is None:
        return "dim"
    if share >= threshold("diagnosis.full_engine"):
        return "red"
    return "yellow" if share >= threshold("diagnosis.busy") else "green"


def _hottest(figures: Figures) -> Text:
    spinlock = figures.hottest
    if spinlock is None:
        return Text(f"Hottest spinlock: {'none spins' if figures.spinlocks else 'not known'}")
    engines = f", {short(spinlock.engines)} engines spin on it" if spinlock.engines is not None else ""
    style = "bold red" if spinlock.contended else ""
    line = Text("Hottest spinlock: ")
    line.append(spinlock.name, style=style or "bold")
    line.append(f"  {shown(spinlock.contention, 'ratio')} contention{engines}", style=style)
    return line


def _others(scene: Scene) -> str:
    figures, measures, parts = scene.figures, scene.frame.diagnosis.measures, []
    blocked, longest = measures["blocked_now"], measures["max_block"]
    if blocked.value is not None:
        parts.append(f"blocked {blocked.text}" + (f" up to {longest.text}" if longest.value else ""))
    if (oldest := measures["oldest_transaction"]).value:
        parts.append(f"oldest tx {oldest.text} ({oldest.subject})")
    logs = [space for space in figures.space if space.use != "data"]
    if logs:
        parts.append(f"log {shown(logs[0].used, 'ratio', digits=2)} ({logs[0].database})")
    temporary = [space for space in figures.space if space.database.startswith("tempdb")]
    if temporary:
        parts.append(f"tempdb {shown(temporary[0].used, 'ratio', digits=2)}")
    return scene.glyphs.separator.join(parts)


def _cost(scene: Scene) -> str:
    cpu, sample = scene.figures.own_cpu, scene.frame.sample
    if cpu is not None:
        used = f"{shown(cpu, 'ratio', digits=4)} of an engine"
    else:
        used = f"statements {shown(sample.statement_share, 'ratio')} of the time"
    budget = f", budget {shown(sample.budget, 'ratio')}" if sample.budget is not None else ""
    slower = f", {counted(len(sample.stretched), 'part')} read less often" if sample.stretched else ""
    note = f", {sample.note}" if sample.note else ""
    return f"top itself: {used}{budget}{slower}, every {sample.interval:g} s{note}"
