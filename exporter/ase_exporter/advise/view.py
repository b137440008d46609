"""Advice as a view."""

from collections.abc import Iterable, Iterator

from ase_exporter.advise.advice import Advice, SpinlockFinding
from ase_exporter.advise.remedies import AdviceStep
from ase_exporter.views.figures import counted, short, shown
from ase_exporter.views.view import Code, Items, Line, Part, Section, Style, Table, View, columns

MAX_SHOWN = 15
_STYLES: dict[str, Style] = {"severe": "worse", "hot": "worse", "quiet": "soft"}
_FIGURES = ("Contention", "Grabs/s", "Spins/s", "Engines")


def advice_view(advice: Advice) -> View:
    """What eases what is wrong, the worst first, then all spinlocks, and rules for everybody."""
    evidence = advice.evidence
    figures = {
        counted(evidence.engines, "engine"): evidence.engines,
        f"{shown(evidence.transactions)} transactions/s": evidence.transactions is not None,
        f"about {short(advice.spinning)} engines spin": evidence.spinlocks,
    }
    known = [text for text, is_known in figures.items() if is_known]
    title = f"{', '.join([f'ASE {evidence.version}', *known])} (over {evidence.seconds:.0f} s)"
    found = advice.findings[:MAX_SHOWN]
    spinlocks = Table(
        columns("Spinlock", *_FIGURES, "State", figures=_FIGURES),
        [_row(each) for each in found],
        styles=[_STYLES.get(each.severity, "") for each in found],
    )
    missing = [f"Not read: {lacks}" for lacks in evidence.missing.values()]
    rules = [*advice.do_not, "For huge pages, THP and memlock of the host see ase-exporter hugepages."]
    return View(
        title,
        [
            Line(title, "strong"),
            *advice_parts(advice),
            *([Section("Spinlocks", [spinlocks])] if found else []),
            Section("What else to know", [Items([*missing, *rules])]),
        ],
    )


def advice_parts(advice: Advice) -> Iterator[Part]:
    """The verdict, then each cause with what eases it."""
    diagnosis, spinlocks = advice.evidence.diagnosis, advice.hot
    if diagnosis:
        texts = ("" if advice.causes else diagnosis.sentence, diagnosis.not_judged)
        yield from (Line(text) for text in texts if text)
    for number, cause in enumerate(advice.causes, 1):
        parts: list[Part] = []
        if cause.spinlocks:
            spinlocks = []
            parts += _spinlocks(cause.spinlocks)
        else:
            parts += [*_steps(cause.steps), Items([*cause.finding.next_steps, *cause.cautions])]
        yield Section(f"{number}. {cause.finding.sentence}", parts)
    # Where the diagnosis cannot judge them, they are hot all the same.
    yield from _spinlocks(spinlocks)
    if advice.is_known and not advice.hot and not advice.causes and advice.findings:
        yield Line("Nothing to do: no spinlock is both contended and busy enough to burn CPU.")
    if advice.features:
        features = [
            f"group {each.group}: {each.name} (from {each.since}). {each.caveat}" for each in advice.features
        ]
        yield Section("Memscale, as the case study found it", [Items(features)])


def spinlock_parts(finding: SpinlockFinding) -> Iterator[Part]:
    """What the spinlock protects, and what eases it."""
    if finding.protects:
        yield Line(f"Protects {finding.protects}")
    if finding.current:
        yield Line(f"Now: {finding.current}")
    if not finding.steps:
        yield Line(
            "No remedy by configuration is known, its options cannot be read, or it is not worth its price"
        )
    yield from _steps(finding.steps)
    yield Items(finding.cautions)
    if finding.sources:
        yield Line(f"Sources: {', '.join(finding.sources)}", "soft")


def _spinlocks(findings: Iterable[SpinlockFinding]) -> Iterator[Section]:
    for each in findings:
        contention = shown(each.spinlock.contention, "ratio")
        yield Section(f"{each.spinlock.name}: {contention} contention", [*spinlock_parts(each)])


def _steps(steps: Iterable[AdviceStep]) -> Iterator[Part]:
    """What to run, why, what it gains at most and what it costs."""
    for step in steps:
        yield Line("Do:")
        yield Code([line for statement in step.statements for line in (statement, "go")])
        said = [f"Why: {step.why}"] if step.why else []
        said += [f"Note: {warning}" for warning in step.warnings]
        yield from map(Line, (*said, f"Gains: {step.ceiling}", f"Costs: {step.price}"))


def _row(finding: SpinlockFinding) -> tuple[str, ...]:
    spinlock = finding.spinlock
    return (
        spinlock.name,
        shown(spinlock.contention, "ratio"),
        short(spinlock.grabs),
        short(spinlock.spins),
        short(finding.engines),
        finding.severity,
    )
