"""`ase-exporter compare`: one server before and after a change, over several runs, or beside another server."""

import io
from pathlib import Path
from typing import Annotated, Literal

import typer

from ase_exporter.analysis.predicted import answer
from ase_exporter.commands.options import (
    ExporterHistory,
    PrometheusUrl,
    Selector,
    duration_option,
    format_option,
    output_option,
    progress_bar,
    write_output,
)
from ase_exporter.compare import report
from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.html import comparison_page
from ase_exporter.compare.request import Request
from ase_exporter.compare.terminal import terminal
from ase_exporter.errors import UserError
from ase_exporter.untrusted.terminal import PlainConsole

Format = Literal["terminal", "markdown", "csv", "json", "html"]

FILE_WIDTH = 80


def compare(
    prometheus: PrometheusUrl,
    target: Annotated[
        list[str],
        typer.Option(
            help="The server's `instance` label in Prometheus; twice to compare two servers (with --window)."
        ),
    ],
    before: Annotated[
        str | None,
        typer.Option(help="START..END, for example now-3h..now-2h; a time without Z or an offset is local."),
    ] = None,
    after: Annotated[str | None, typer.Option(help="START..END.")] = None,
    window: Annotated[
        list[str] | None, typer.Option(help="NAME=START..END; may be repeated for a series of runs.")
    ] = None,
    change: Annotated[
        str | None,
        typer.Option(
            "--around", help="Compare before and after a recorded change, given by its id or by text in it."
        ),
    ] = None,
    runs: Annotated[
        str | None, typer.Option(help="START..END, split into runs by the changes recorded in it.")
    ] = None,
    length: Annotated[
        float,
        duration_option("--length", show_default="30m", help="Maximum length of a window around a change."),
    ] = 1800.0,
    settle: Annotated[
        float, duration_option("--settle", show_default="1m", help="Time left out after a change.")
    ] = 60.0,
    step: Annotated[
        float | None,
        duration_option("--step", help="Time between samples. Default: the scrape interval."),
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Only this measure; may be repeated. Default: all.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.9999, help="Confidence of intervals and verdicts.")
    ] = 0.95,
    exporter: ExporterHistory = None,
    selector: Selector = "",
    everything: Annotated[
        bool,
        typer.Option("--all", help="On the terminal, also list measures without evidence of a difference."),
    ] = False,
    form: Annotated[Format, format_option("Output format; html needs --output.")] = "terminal",
    output: Annotated[Path | None, output_option("Write to this file.")] = None,
) -> None:
    """Examples:

    ase-exporter compare --prometheus http://localhost:9090 --target PROD1 --before now-3h..now-2h --after now-1h..now

    ase-exporter compare --prometheus http://localhost:9090 --target PROD1 --around "lock address spinlock ratio"
    """
    if form == "html" and output is None:
        raise UserError("--format html: expected a file with --output")
    request = Request(
        prometheus=prometheus,
        targets=target,
        selector=selector,
        exporter=exporter,
        before=before,
        after=after,
        windows=window or [],
        change=change,
        runs=runs,
        length=length,
        settle=settle,
        step=step,
        measures=measure,
        confidence=confidence,
    )
    with progress_bar() as bar:
        task = bar.add_task("Querying Prometheus", total=None)
        result = answer(
            request,
            lambda title, done, total: bar.update(task, description=title, completed=done, total=total),
        )
    if form == "terminal" and output is None:
        PlainConsole().print(terminal(result, everything=everything))
    elif output is None:
        print(as_text(result, form), end="")
    else:
        write_output(output, as_text(result, form, everything=everything))


def as_text(result: Comparison, form: Format, *, everything: bool = False) -> str:
    """The comparison in a format. everything: as text, also the measures without evidence of a difference."""
    match form:
        case "terminal":
            text = io.StringIO()
            PlainConsole(file=text, width=FILE_WIDTH).print(terminal(result, everything=everything))
            return text.getvalue()
        case "markdown":
            return report.markdown(result)
        case "csv":
            return report.as_csv(result)
        case "json":
            return report.as_json(result)
        case "html":
            return comparison_page(result)
