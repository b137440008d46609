"""`python -m tests.exporter.report.picture` simulates the morning and draws report.png."""

import tempfile
from pathlib import Path

from tests.browser import opened
from tests.exporter.report.conftest import told
from tests.exporter.report.week import MORNING
from tests.paths import DOCS

from ase_exporter.report.view import report_view
from ase_exporter.views.page import page as html

PICTURE = DOCS / "images" / "report.png"
# Pixels: the verdict, the figures and the first two charts.
WIDTH, HEIGHT = 1000, 920


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        told(MORNING, Path(directory)) as past,
        opened(Path(directory) / "report.html", width=WIDTH) as seen,
    ):
        seen.show(html(report_view(past.report())))
        seen.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        seen.page.screenshot(path=PICTURE)


if __name__ == "__main__":
    main()
