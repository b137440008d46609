"""The command `ase-exporter compare`.

The comparison is imported when the command runs, because it loads numpy, httpx2 and matplotlib.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.commands.durations import duration_option


class Format(StrEnum):
    """Output formats."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"
    HTML = "html"


def compare(
    prometheus: Annotated[str, typer.Option(help="URL of Prometheus, Mimir or VictoriaMetrics.")],
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
            "--change",
            "--around",
            help="Compare before and after a recorded change, given by its id or by text in it.",
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
    exporter: Annotated[
        str | None,
        typer.Option(
            help="URL of ase-exporter: read changes from its history, not from its metrics in Prometheus."
        ),
    ] = None,
    selector: Annotated[str, typer.Option(help="More label matchers, for example 'job=\"ase\"'.")] = "",
    everything: Annotated[
        bool,
        typer.Option("--all", help="On the terminal, also list measures without evidence of a difference."),
    ] = False,
    output: Annotated[
        Format, typer.Option("--format", help="Output format; html needs --out.")
    ] = Format.TERMINAL,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write to a file.")] = None,
) -> None:
    """Compare a server before and after a change, over several runs, or with another server.

    ase-exporter compare --prometheus http://localhost:9090 --target PROD1 --before now-3h..now-2h --after now-1h..now

    ase-exporter compare --prometheus http://localhost:9090 --target PROD1 --around "lock address spinlock ratio"
    """
    from ase_exporter.commands.compare_output import run
    from ase_exporter.compare.request import Request

    run(
        Request(
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
        ),
        output.value,
        out,
        everything=everything,
    )
