"""`ase-exporter report`: one HTML page on a period of a server."""

import time
from pathlib import Path

import typer

from ase_exporter.commands.options import defaults, recorded_server, require, require_output, write_output
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.views.figures import size
from ase_exporter.views.page import page


def report(
    prometheus: str | None = None,
    target: str | None = None,
    since: str | None = None,
    until: str | None = None,
    selector: str = "",
    output: Path = Path("report.html"),
    config_file: Path | None = None,
) -> None:
    require("numpy", "compare", "report needs numpy")
    require_output(output)
    from ase_exporter.compare.request import instance_named
    from ase_exporter.report.period import Range
    from ase_exporter.report.server_report import read_report
    from ase_exporter.report.view import report_view

    period, now = Range(since, until), time.time()
    # What is wrong with it is said before anybody is asked.
    period.period(now)
    url, name = recorded_server(prometheus, target, defaults(config_file, prometheus, target))
    with Prometheus(url) as server:
        found = read_report(server, instance_named(server, name), period, now, selector)
        written = page(report_view(found))
    write_output(output, written)
    print(f"{output}: {size(len(written.encode()))}, {server.requests} queries")
    if found.diagnosis.level == "none":
        told = "the page says what was not read, `ase-exporter check` what to switch on"
        print(f"{name}: {found.diagnosis.sentence}; {told}")
        raise typer.Exit(1)
