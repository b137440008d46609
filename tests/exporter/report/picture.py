"""`python -m tests.exporter.report.picture` simulates the morning and draws report.png."""

import tempfile
import time
from pathlib import Path

from tests.browser import opened
from tests.exporter.report.conftest import told
from tests.exporter.report.week import MORNING, SERVER
from tests.paths import DOCS

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.report.period import Range
from ase_exporter.report.server_report import read_report
from ase_exporter.report.view import report_view
from ase_exporter.views.page import page as html

PICTURE = DOCS / "images" / "report.png"
# Pixels: the verdict, the figures and the first two charts.
WIDTH, HEIGHT = 1000, 920


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, told(MORNING, Path(directory)) as past:
        period = Range(str(past.story.start), str(past.story.end))
        with Prometheus(past.url) as server:
            page = html(report_view(read_report(server, SERVER, period, time.time())))
        path = Path(directory) / "report.html"
        path.write_text(page, encoding="utf-8")
        with opened(path, width=WIDTH) as seen:
            seen.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
            seen.page.screenshot(path=PICTURE)


if __name__ == "__main__":
    main()
