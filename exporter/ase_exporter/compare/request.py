"""A comparison as asked for on the command line: checked, run with progress, written."""

import io
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from ase_exporter.compare import report
from ase_exporter.compare.comparison import Comparison, compare_windows
from ase_exporter.compare.marks import marks_from_exporter, marks_from_prometheus
from ase_exporter.compare.measures import measures
from ase_exporter.compare.windows import Mark, Span, around, between, parse_span
from ase_exporter.errors import UserError
from ase_exporter.progress import progress as progress_bar
from ase_exporter.prometheus import Prometheus

Output = Literal["terminal", "markdown", "csv", "json", "html"]

MARKS_LOOK_BACK = 30 * 86400.0
FILE_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Request:
    """The options of `ase-exporter compare`, as given."""

    prometheus: str
    targets: Sequence[str]
    selector: str = ""
    exporter: str | None = None
    before: str | None = None
    after: str | None = None
    windows: Sequence[str] = ()
    change: str | None = None
    runs: str | None = None
    length: float = 1800.0
    settle: float = 60.0
    step: float | None = None
    measures: Sequence[str] | None = None
    confidence: float = 0.95


def run(request: Request, output: Output, out: Path | None) -> None:
    """Compare and write. Raises UserError for whatever is wrong with the request or the data."""
    if output == "html" and out is None:
        raise UserError("--format html: expected a file with --out")
    with progress_bar() as bar:
        task = bar.add_task("Querying Prometheus", total=None)
        result = answer(
            request,
            progress=lambda title, done, total: bar.update(
                task, description=title, completed=done, total=total
            ),
        )
    _write(result, output, out)


def answer(
    request: Request, progress: Callable[[str, int, int], None] = lambda title, done, total: None
) -> Comparison:
    """The comparison asked for."""
    for key in request.measures or ():
        if key not in measures():
            raise UserError(f"--measure: {key}: expected one of {', '.join(measures())}")
    selectors = [_selector(name, request.selector) for name in request.targets]
    now = time.time()
    with Prometheus(request.prometheus) as server:
        if request.exporter:
            marks = marks_from_exporter(request.exporter, request.targets[0])
        else:
            marks = marks_from_prometheus(server, selectors[0], now - MARKS_LOOK_BACK, now)
        spans = _spans(request, marks, now)
        if len(selectors) == 2 and len(spans) == 1:
            spans = [Span(name, spans[0].start, spans[0].end) for name in request.targets]
        if len(selectors) not in (1, len(spans)):
            raise UserError(
                f"--target: {len(selectors)} given for {len(spans)} windows; expected 1 or one a window"
            )
        start, end = min(span.start for span in spans), max(span.end for span in spans)
        return compare_windows(
            server,
            selectors[0] if len(selectors) == 1 else selectors,
            spans,
            keys=request.measures,
            confidence=request.confidence,
            step=request.step,
            marks=[mark for mark in marks if start <= mark.at <= end],
            progress=progress,
        )


def _spans(request: Request, marks: list[Mark], now: float) -> list[Span]:
    """The windows, asked for in one of four ways."""
    pair = request.before is not None or request.after is not None
    if sum((pair, bool(request.windows), request.change is not None, request.runs is not None)) != 1:
        raise UserError("expected one of: --before and --after, --window (repeated), --change, --runs")
    if request.change is not None:
        mark = _find(marks, request.change)
        return list(around(mark, marks, now, length=request.length, settle=request.settle))
    if request.runs is not None:
        return between(marks, parse_span("runs", request.runs, now), settle=request.settle)
    if request.windows:
        return [_named(text, now) for text in request.windows]
    if request.before is None or request.after is None:
        raise UserError("--before and --after go together")
    return [parse_span("before", request.before, now), parse_span("after", request.after, now)]


def _selector(target: str, more: str) -> str:
    escaped = target.replace("\\", "\\\\").replace('"', '\\"')
    return ", ".join(part for part in (f'instance="{escaped}"', more) if part)


def _named(text: str, now: float) -> Span:
    name, equals, span = text.partition("=")
    if not equals or not name:
        raise UserError(f"--window: {text!r}: expected NAME=START..END")
    return parse_span(name, span, now)


def _find(marks: list[Mark], text: str) -> Mark:
    found = [mark for mark in marks if text == mark.id] or [mark for mark in marks if text in str(mark)]
    if not found:
        newest = "; the newest: " + ", ".join(map(str, marks[-3:])) if marks else "; none is recorded"
        raise UserError(f"--change: no recorded change of the last 30 days holds {text!r}{newest}")
    return found[-1]


def _write(result: Comparison, output: Output, out: Path | None) -> None:
    if output == "terminal":
        text = _printed(result) if out else None
    elif output == "html":
        # matplotlib takes a second to load: only where plots are drawn.
        from ase_exporter.compare.html import as_html

        text = as_html(result)
    else:
        text = {"markdown": report.markdown, "csv": report.as_csv, "json": report.as_json}[output](result)
    if text is None:
        console = Console()
        console.print(report.terminal(result, console.width))
    elif out is None:
        sys.stdout.write(text)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"--out: {out}: {error.strerror}") from error


def _printed(result: Comparison) -> str:
    text = io.StringIO()
    Console(file=text, width=FILE_WIDTH).print(report.terminal(result, FILE_WIDTH))
    return text.getvalue()
