"""`python -m tests.exporter.report.picture` simulates the week, in a quarter of an hour, and draws report.png."""

import io
import tempfile
import time
from pathlib import Path

from PIL import Image
from tests.browser import opened
from tests.exporter.report.conftest import Past, told
from tests.exporter.report.week import SERVER, WEEK
from tests.paths import DOCS

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.report.html import report_page
from ase_exporter.report.period import Range
from ase_exporter.report.server_report import read_report

PICTURE = DOCS / "images" / "report.png"
# Pixels: the verdict, the figures and the first two charts.
WIDTH, HEIGHT = 1000, 1010
COLOURS = 128


def draw(past: Past, folder: Path) -> str:
    """Draw the picture of a story; what the page cost. folder: for the page."""
    began = time.monotonic()
    with Prometheus(past.url) as server:
        period = Range(None, str(past.story.start), str(past.story.end))
        page = report_page(read_report(server, SERVER, period, time.time()))
        cost = (
            f"{time.monotonic() - began:.1f} s, {server.requests} queries, {len(page.encode()) / 1024:.0f} KB"
        )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    with opened(path, width=WIDTH) as seen:
        seen.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        shot = seen.page.screenshot()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    return cost


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory, told(WEEK, Path(directory)) as told_week:
        print(draw(told_week, Path(directory)))
