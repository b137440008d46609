"""The report of advice for a terminal."""

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType

from ase_exporter.advise.advice import Advice, SpinlockFinding
from ase_exporter.advise.remedies import AdviceStep
from ase_exporter.pages.text import as_short
from ase_exporter.untrusted.terminal import TextLine, WordTable

MAX_SHOWN = 15
_COLOURS = {"severe": "bold red", "hot": "red", "busy": "", "quiet": "dim"}
_HEADER = ("Spinlock", "Contention", "Grabs/s", "Spins/s", "Spinning", "State")


class SqlLine(str):
    """A line of SQL: to be copied, and never broken."""

    __slots__ = ()


def terminal(advice: Advice) -> RenderableType:
    found = advice.findings[:MAX_SHOWN]
    styles = [_COLOURS[finding.severity] for finding in found]
    table = WordTable(_HEADER, [_row(finding) for finding in found], range(1, 5), styles=styles)
    title, causes = TextLine(_title(advice), "italic"), map(_line, _causes(advice))
    shown: list[RenderableType] = [table, ""] if found else []
    return Group(title, *causes, "", *shown, *map(_line, _general(advice)))


def _line(text: str) -> TextLine:
    return TextLine(text, whole=isinstance(text, SqlLine))


def _title(advice: Advice) -> str:
    evidence = advice.evidence
    return (
        f"ASE {evidence.version}, {evidence.engines} engines, {evidence.transactions:,.0f} transactions/s,"
        f" about {advice.spinning:.1f} engines spin (over {evidence.seconds:.0f} s)"
    )


def _row(finding: SpinlockFinding) -> tuple[str, ...]:
    spinlock = finding.spinlock
    return (
        spinlock.name,
        f"{spinlock.contention:.1%}",
        as_short(spinlock.grabs),
        as_short(spinlock.spins),
        f"{finding.engines:.2f}",
        finding.severity,
    )


def _causes(advice: Advice) -> Iterator[str]:
    """The verdict, then each cause with what eases it."""
    diagnosis, spinlocks = advice.evidence.diagnosis, advice.hot
    if diagnosis:
        yield from filter(None, ["" if advice.causes else diagnosis.sentence, diagnosis.not_judged])
    for number, cause in enumerate(advice.causes, 1):
        yield from ("", f"{number}. {cause.finding.sentence}")
        if cause.spinlocks:
            spinlocks = []
            yield from _spinlock_lines(cause.spinlocks)
            continue
        yield from step_lines(cause.steps)
        for line in (*cause.finding.next_steps, *cause.cautions):
            yield f"- {line}"
    # Where the diagnosis cannot judge them, they are hot all the same.
    yield from _spinlock_lines(spinlocks)
    if not advice.hot and not advice.causes and advice.findings:
        yield "Nothing to do: no spinlock is both contended and busy enough to burn CPU."


def _spinlock_lines(spinlocks: Iterable[SpinlockFinding]) -> Iterator[str]:
    for finding in spinlocks:
        yield from ("", f"{finding.spinlock.name}: {finding.spinlock.contention:.1%} contention")
        yield from finding_lines(finding)


def _general(advice: Advice) -> Iterator[str]:
    """What is said of no single cause."""
    if advice.features:
        yield "Memscale, as the case study found it:"
        for feature in advice.features:
            yield f"   group {feature.group}: {feature.name} (from {feature.since}). {feature.caveat}"
    for lacks in advice.evidence.missing.values():
        yield f"Not read: {lacks}"
    yield ""
    for rule in advice.do_not:
        yield f"- {rule}"
    yield "- For huge pages, THP and memlock of the host see ase-exporter hugepages."


def finding_lines(finding: SpinlockFinding) -> Iterator[str]:
    """What the spinlock protects, and what eases it."""
    if finding.protects:
        yield f"Protects {finding.protects}"
    if finding.current:
        yield f"Now: {finding.current}"
    if not finding.is_hot:
        yield "Nothing to do: it is below the threshold, or too rarely used to matter."
        return
    if not finding.steps:
        yield "No remedy by configuration is known, its options cannot be read, or it is not worth its price"
    yield from step_lines(finding.steps)
    yield from (f"- {caution}" for caution in finding.cautions)
    if finding.sources:
        yield f"Sources: {', '.join(finding.sources)}"


def step_lines(steps: Iterable[AdviceStep]) -> Iterator[str]:
    """What to run, why, what it gains at most and what it costs."""
    for step in steps:
        yield "Do:"
        for statement in step.statements:
            yield from (SqlLine(statement), "go")
        if step.why:
            yield f"Why: {step.why}"
        yield from (f"Note: {warning}" for warning in step.warnings)
        yield f"Gains: {step.ceiling}"
        yield f"Costs: {step.price}"
