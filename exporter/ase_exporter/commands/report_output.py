"""Reads a report with a progress bar and writes its page."""

import time
from pathlib import Path

from ase_exporter.commands.extras import require_matplotlib
from ase_exporter.commands.progress import progress as progress_bar
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.errors import UserError
from ase_exporter.report.server_report import Progress, Range


def run(
    prometheus: str, target: str | None, range_: Range, selector: str, output: Path, *, both: bool = False
) -> None:
    """Write the page on a server, or on all servers. target: None for all. both: a target was given beside --fleet.

    Raises UserError if the options or the data do not allow it.
    """
    if both or target == "":
        raise UserError("expected one of --target and --fleet")
    require_matplotlib("report")
    with Prometheus(prometheus) as server, progress_bar() as bar:
        task = bar.add_task("Querying Prometheus", total=None)

        def show(title: str) -> None:
            bar.update(task, description=title)

        page = _page(server, target, range_, selector, show)
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"--output: {output}: {error.strerror}") from error
    print(f"{output}: {len(page.encode()) / 1024:,.0f} KB, {server.requests} queries")


def _page(server: Prometheus, target: str | None, range_: Range, selector: str, show: Progress) -> str:
    now = time.time()
    if target is None:
        # Imported here because matplotlib takes a second to load.
        from ase_exporter.report.fleet import read_fleet
        from ase_exporter.report.fleet_html import as_html as fleet_html

        return fleet_html(read_fleet(server, range_, now, selector, show))
    from ase_exporter.report.html import as_html
    from ase_exporter.report.server_report import read_report

    return as_html(read_report(server, target, range_, now, selector, show))
