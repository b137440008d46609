"""`ase-exporter compare`: its options. The work is in `request`, imported when the command runs, for it needs
numpy, httpx and matplotlib, which `serve` must not carry along.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How the result is written."""

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
            help="The server's label `instance` in Prometheus; twice to compare two servers (with --window)."
        ),
    ],
    before: Annotated[str | None, typer.Option(help="START..END, for example now-3h..now-2h.")] = None,
    after: Annotated[str | None, typer.Option(help="START..END.")] = None,
    window: Annotated[
        list[str] | None, typer.Option(help="NAME=START..END; several make a series of runs.")
    ] = None,
    change: Annotated[
        str | None,
        typer.Option(
            "--change", "--around", help="Id of, or text in, a recorded change: windows before and after it."
        ),
    ] = None,
    runs: Annotated[
        str | None, typer.Option(help="START..END, cut into runs by the changes recorded in it.")
    ] = None,
    length: Annotated[float, typer.Option(help="Most seconds of a window around a change.")] = 1800.0,
    settle: Annotated[float, typer.Option(help="Seconds left out after a change.")] = 60.0,
    step: Annotated[
        float | None, typer.Option(help="Seconds between samples; default: the scrapes'.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Only this measure; may be repeated. Default: all.")
    ] = None,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.9999, help="Of intervals and verdicts.")] = 0.95,
    exporter: Annotated[
        str | None,
        typer.Option(
            help="URL of ase-exporter: changes from its history, not from its metrics in Prometheus."
        ),
    ] = None,
    selector: Annotated[str, typer.Option(help="More label matchers, for example 'job=\"ase\"'.")] = "",
    output: Annotated[
        Format, typer.Option("--format", help="How to write it; html needs --out.")
    ] = Format.TERMINAL,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A file instead of the terminal.")] = None,
) -> None:
    """Compare a server before and after, run by run, or with another, and say how sure that is.

    ase-exporter compare --prometheus http://localhost:9090 --target PROD1 --before now-3h..now-2h --after now-1h..now

    ase-exporter compare --prometheus http://localhost:9090 --target PROD1 --around "lock address spinlock ratio"
    """
    from ase_exporter.compare.request import Request, run

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
    )
