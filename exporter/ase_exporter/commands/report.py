"""`ase-exporter report`: one HTML page on a period of a server."""

import time
from pathlib import Path

from ase_exporter.commands.options import require, write_output
from ase_exporter.commands.progress import progress_bar
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.views.page import page


def report(
    prometheus: str,
    target: str,
    last: float | None = None,
    start: str | None = None,
    end: str | None = None,
    selector: str = "",
    output: Path = Path("report.html"),
) -> None:
    require("numpy", "compare", "report needs numpy")
    from ase_exporter.report.period import Range
    from ase_exporter.report.server_report import read_report
    from ase_exporter.report.view import report_view

    period, now = Range(last, start, end), time.time()
    with Prometheus(prometheus) as server, progress_bar() as bar:
        bar.add_task("Querying Prometheus", total=None)
        written = page(report_view(read_report(server, target, period, now, selector)))
    write_output(output, written)
    print(f"{output}: {len(written.encode()) / 1024:,.0f} KB, {server.requests} queries")
