"""Runs a comparison with a progress bar and writes it as terminal text, Markdown, CSV, JSON or HTML."""

import io
import sys
from pathlib import Path
from typing import Literal

from rich.console import Console

from ase_exporter.commands.extras import require_matplotlib
from ase_exporter.commands.progress import progress as progress_bar
from ase_exporter.compare import report
from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.request import Request, answer
from ase_exporter.compare.terminal import terminal
from ase_exporter.errors import UserError

Output = Literal["terminal", "markdown", "csv", "json", "html"]

FILE_WIDTH = 80


def run(request: Request, output: Output, out: Path | None, *, everything: bool = False) -> None:
    """Compare and write the report. everything: also, on a terminal, measures without evidence of a difference.

    Raises UserError if the request or the data do not allow it."""
    if output == "html" and out is None:
        raise UserError("--format html: expected a file with --out")
    if output == "html":
        require_matplotlib("--format html")
    with progress_bar() as bar:
        task = bar.add_task("Querying Prometheus", total=None)
        result = answer(
            request,
            progress=lambda title, done, total: bar.update(
                task, description=title, completed=done, total=total
            ),
        )
    _write(result, output, out, everything)


def _write(result: Comparison, output: Output, out: Path | None, everything: bool) -> None:
    if output == "terminal":
        text = _printed(result, everything) if out else None
    elif output == "html":
        # Imported here because matplotlib takes a second to load.
        from ase_exporter.compare.html import as_html

        text = as_html(result)
    else:
        text = {"markdown": report.markdown, "csv": report.as_csv, "json": report.as_json}[output](result)
    if text is None:
        Console().print(terminal(result, everything=everything))
    elif out is None:
        sys.stdout.write(text)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"--out: {out}: {error.strerror}") from error


def _printed(result: Comparison, everything: bool) -> str:
    text = io.StringIO()
    Console(file=text, width=FILE_WIDTH).print(terminal(result, everything=everything))
    return text.getvalue()
