"""`ase-exporter report`: one HTML page on a server, or on all of them."""

import time
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.commands.options import (
    PrometheusUrl,
    Selector,
    duration_option,
    output_option,
    progress_bar,
    require,
    write_output,
)
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.errors import UserError
from ase_exporter.report.period import Range
from ase_exporter.report.server_report import Progress


def report(
    prometheus: PrometheusUrl,
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
    selector: Selector = "",
    output: Annotated[Path, output_option("The page to write.")] = Path("report.html"),
) -> None:
    """Examples:

    ase-exporter report --prometheus http://localhost:9090 --target PROD1 --last 7d --output prod1.html

    ase-exporter report --prometheus http://localhost:9090 --fleet
    """
    if fleet == bool(target):
        raise UserError("expected one of --target and --fleet")
    require("matplotlib", "report", "report needs matplotlib")
    with Prometheus(prometheus) as server, progress_bar() as bar:
        task = bar.add_task("Querying Prometheus", total=None)

        def show(title: str) -> None:
            bar.update(task, description=title)

        page = _page(server, target, Range(last, start, end), selector, show)
    write_output(output, page)
    print(f"{output}: {len(page.encode()) / 1024:,.0f} KB, {server.requests} queries")


def _page(server: Prometheus, target: str, period: Range, selector: str, show: Progress) -> str:
    # Imported here because matplotlib takes a second to load.
    from ase_exporter.report.fleet import read_fleet
    from ase_exporter.report.html import fleet_page, report_page
    from ase_exporter.report.server_report import read_report

    now = time.time()
    if not target:
        return fleet_page(read_fleet(server, period, now, selector, show))
    return report_page(read_report(server, target, period, now, selector, show))
