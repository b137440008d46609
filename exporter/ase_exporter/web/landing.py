"""The landing page: every target with the outcome of its last scrape."""

import time
from collections.abc import Mapping
from importlib.metadata import version

from ase_exporter.pages.render import render
from ase_exporter.workers.target_state import TargetState


def landing_page(states: Mapping[str, TargetState]) -> str:
    """The page as HTML. states: by target."""
    title = f"ase-exporter {version('ase-exporter')}"
    return render("landing.html", title=title, states=states, now=time.time())
