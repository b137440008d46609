"""The landing page: every target with the outcome of its last scrape."""

import html
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from ase_exporter.scraping.summary import ScrapeSummary
from ase_exporter.web.pages import page
from ase_exporter.workers.target_state import TargetState


def landing_page(states: Mapping[str, TargetState]) -> str:
    """The page as HTML. states: by target."""
    rows = [_row(name, state) for name, state in states.items()]
    return page(
        Path(__file__).parent / "landing.html",
        version=html.escape(version("ase-exporter")),
        rows="\n".join(rows) or '<tr><td colspan="5">No target is configured.</td></tr>',
    )


def _row(name: str, state: TargetState) -> str:
    summary = state.summary or ScrapeSummary()
    status = "not scraped yet" if state.summary is None else "up" if summary.up else "down"
    age = "" if state.at is None else f"{max(0.0, time.time() - state.at):.0f} s ago"
    remark = summary.error or f"{summary.series} series"
    if summary.stretched:
        remark += f"; {summary.stretched} collectors are read less often, to keep the budget"
    cells = [
        f'<a href="probe?target={html.escape(name)}">{html.escape(name)}</a>',
        f'<span class="{status.split()[0]}">{status}</span>',
        html.escape(summary.version.split("/EBF")[0]),
        age,
        html.escape(remark),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
