"""The command `ase-exporter report`.

The report is imported when the command runs, because it loads numpy, httpx2 and matplotlib.
"""

from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.commands.durations import duration_option


def report(
    prometheus: Annotated[str, typer.Option(help="URL of Prometheus, Mimir or VictoriaMetrics.")],
    target: Annotated[str, typer.Option(help="The server's `instance` label in Prometheus.")] = "",
    fleet: Annotated[
        bool, typer.Option("--fleet", help="All servers on one page, the worst first, in place of one.")
    ] = False,
    last: Annotated[
        float | None, duration_option("--last", help="Length of the period, up to --to. Default: 7d.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Start, in place of --last, for example 2026-05-04; a time without Z or an offset is local.",
        ),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the period. Default: now.")] = None,
    selector: Annotated[str, typer.Option(help="More label matchers, for example 'job=\"ase\"'.")] = "",
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one HTML page on a week of a server: worst hours, changes and their effect, alerts, advice, forecasts.

    ase-exporter report --prometheus http://localhost:9090 --target PROD1 --last 7d --output prod1.html

    ase-exporter report --prometheus http://localhost:9090 --fleet
    """
    from ase_exporter.commands.report_output import run
    from ase_exporter.report.server_report import Range

    run(
        prometheus,
        None if fleet else target,
        Range(last, start, end),
        selector,
        output,
        both=fleet and bool(target),
    )
