"""`ase-exporter report`: one HTML page on a server, on all of them, or on a recording of `top`."""

import time
from pathlib import Path

from ase_exporter.catalogue import load_catalogue
from ase_exporter.commands.options import require, write_output
from ase_exporter.commands.progress import progress_bar
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.errors import UserError
from ase_exporter.top.recording_report import recording_view
from ase_exporter.views.page import page
from ase_exporter.views.view import View


def report(
    prometheus: str = "",
    target: str = "",
    fleet: bool = False,
    recording: Path | None = None,
    last: float | None = None,
    start: str | None = None,
    end: str | None = None,
    selector: str = "",
    output: Path = Path("report.html"),
) -> None:
    if recording:
        if target or fleet:
            raise UserError("--recording: is read alone; expected neither --target nor --fleet")
        _write(output, recording_view(recording, load_catalogue()[0]))
        return
    if not prometheus:
        raise UserError("expected --prometheus URL or --recording FILE")
    if fleet == bool(target):
        raise UserError("expected one of --target and --fleet")
    require("numpy", "compare", "report needs numpy")
    from ase_exporter.report.fleet import fleet_view, read_fleet
    from ase_exporter.report.period import Range
    from ase_exporter.report.server_report import read_report
    from ase_exporter.report.view import report_view

    period, now = Range(last, start, end), time.time()
    with Prometheus(prometheus) as server, progress_bar() as bar:
        bar.add_task("Querying Prometheus", total=None)
        if target:
            view = report_view(read_report(server, target, period, now, selector))
        else:
            view = fleet_view(read_fleet(server, period, now, selector))
    _write(output, view, f", {server.requests} queries")


def _write(output: Path, view: View, more: str = "") -> None:
    written = page(view)
    write_output(output, written)
    print(f"{output}: {len(written.encode()) / 1024:,.0f} KB{more}")
