"""Reports of advice for terminal, Markdown and JSON."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.text import Text

from ase_exporter.advise.advice import Advice, SpinlockFinding
from ase_exporter.untrusted.encoders import markdown as encode_markdown
from ase_exporter.untrusted.encoders import markdown_table

MAX_SHOWN = 15
_FENCE = "```"
_COLOURS = {"severe": "bold red", "hot": "red", "busy": "", "quiet": "dim"}
_HEADER = ("Spinlock", "Contention", "Grabs/s", "Spins/s", "Engines spinning", "State")
PREDICTION = (
    "Predictions spread grabs evenly over the spinlocks of a name and let sessions go on as they do. Less is gained"
    " where a few hot rows share one spinlock."
)


def terminal(advice: Advice) -> RenderableType:
    # Each name has a line of its own, so that no name and no number is broken on a narrow terminal.
    lines = [Text(_title(advice), "italic")]
    for finding in advice.findings[:MAX_SHOWN]:
        name, *figures, state = _row(finding)
        shown = (
            f"{figure} {heading.lower()}" for figure, heading in zip(figures, _HEADER[1:-1], strict=True)
        )
        lines += [Text(f"{name}: {state}", _COLOURS[finding.severity]), Text(f"  {', '.join(shown)}")]
    return Group(*lines, Text(), *(Text(line) for line in _lines(advice)))


def markdown(advice: Advice) -> str:
    rows = [_HEADER, *(_row(finding) for finding in advice.findings[:MAX_SHOWN])]
    table = markdown_table(rows, range(1, 5))
    return f"## {_title(advice)}\n\n{table}\n\n" + "\n".join(_with_breaks(_lines(advice, fenced=True))) + "\n"


def as_json(advice: Advice) -> str:
    """A report for programs: rates per second, ratios 0-1."""
    evidence = advice.evidence
    content = {
        "version": str(evidence.version),
        "seconds": round(evidence.seconds, 3),
        "engines": evidence.engines,
        "engines_spinning": advice.spinning,
        "transactions_per_second": evidence.transactions,
        "missing": dict(evidence.missing),
        "findings": [_finding(finding) for finding in advice.findings],
        "features": [asdict(feature) for feature in advice.features],
        "not_offered": advice.not_offered,
        "do_not": advice.do_not,
    }
    return json.dumps(content, indent=2) + "\n"


def _title(advice: Advice) -> str:
    evidence = advice.evidence
    return (
        f"ASE {evidence.version}, {evidence.engines} engines, {evidence.transactions:,.0f} transactions/s:"
        f" about {advice.spinning:.1f} engines spin (over {evidence.seconds:.0f} s)"
    )


def _row(finding: SpinlockFinding) -> tuple[str, ...]:
    spinlock = finding.spinlock
    return (
        spinlock.name,
        f"{spinlock.contention:.1%}",
        f"{spinlock.grabs:,.0f}",
        f"{spinlock.spins:,.0f}",
        f"{finding.engines:.2f}",
        finding.severity,
    )


def _with_breaks(lines: Iterable[str]) -> Iterator[str]:
    """The lines with Markdown's line break, except inside code blocks."""
    inside = False
    for line in lines:
        fence = line.startswith(_FENCE)
        inside ^= fence
        yield line if inside or fence else f"{line}  "


def _lines(advice: Advice, *, fenced: bool = False) -> Iterator[str]:
    if not advice.hot:
        yield "Nothing to do: no spinlock is both contended and busy enough to burn CPU."
    for number, finding in enumerate(advice.hot, 1):
        yield ""
        name = encode_markdown(finding.spinlock.name) if fenced else finding.spinlock.name
        yield f"{number}. {name}: {finding.spinlock.contention:.1%} contention"
        yield from finding_lines(finding, fenced=fenced)
    if advice.features:
        yield ""
        yield "Memscale, as the case study found it:"
        for feature in advice.features:
            yield f"   group {feature.group}: {feature.name} (from {feature.since}). {feature.caveat}"
    for note in advice.not_offered:
        yield f"   {note}"
    for name, reason in advice.evidence.missing.items():
        yield f"Not read: {name} ({reason})"
    yield ""
    for rule in advice.do_not:
        yield f"- {rule}"
    yield "- For huge pages, THP and memlock of the host see ase-exporter hugepages."
    yield PREDICTION


def finding_lines(finding: SpinlockFinding, *, fenced: bool = False) -> Iterator[str]:
    """What the spinlock protects, and what eases it. fenced: statements as Markdown's code blocks."""
    if finding.protects:
        yield f"Protects {finding.protects}"
    if finding.current:
        yield f"Now: {finding.current}"
    if finding.severity in ("quiet", "busy"):
        yield "Nothing to do: it is below the threshold, or too rarely used to matter."
        return
    if not finding.steps:
        yield "No remedy by configuration is known, its options cannot be read, or it is not worth its price"
    for step in finding.steps:
        yield "Do:"
        if fenced:
            yield f"{_FENCE}sql"
        for statement in step.statements:
            yield statement
            yield "go"
        if fenced:
            yield _FENCE
        yield f"Why: {step.why}"
        yield from (f"Note: {warning}" for warning in step.warnings)
        yield f"Gains: {step.promise}"
        yield f"Costs: {step.price}"
    yield from (f"- {caution}" for caution in finding.cautions)
    if finding.sources:
        yield f"Sources: {', '.join(finding.sources)}"


def _finding(finding: SpinlockFinding) -> dict[str, object]:
    spinlock = finding.spinlock
    return {
        "spinlock": spinlock.name,
        "class": spinlock.spinlock_class,
        "contention": spinlock.contention,
        "grabs_per_second": spinlock.grabs,
        "spins_per_second": spinlock.spins,
        "waits_per_second": spinlock.waits,
        "engines_spinning": finding.engines,
        "state": finding.severity,
        "protects": finding.protects,
        "current": finding.current,
        "steps": [
            {
                "statements": step.statements,
                "why": step.why,
                "gain": asdict(step.gain) if step.gain else None,
                "costs": step.price,
                "restart": step.restart,
                "warnings": step.warnings,
            }
            for step in finding.steps
        ],
        "cautions": finding.cautions,
        "sources": finding.sources,
    }
