"""The state of a target as the web process sees it."""

import time
from dataclasses import dataclass, replace

from ase_exporter.scraping.summary import ScrapeSummary


@dataclass(slots=True)
class TargetState:
    """The last scrape of a target, for the landing page. summary: None before the first; at: Unix time."""

    summary: ScrapeSummary | None = None
    at: float | None = None

    @property
    def is_up(self) -> bool:
        """Whether the server answered in the last scrape."""
        return self.summary is not None and self.summary.up

    @property
    def was_up(self) -> bool:
        """Whether the server ever answered."""
        return self.summary is not None and self.summary.version != ""

    def update(self, summary: ScrapeSummary) -> None:
        """Keep a new summary; a scrape that did not reach the server keeps the version."""
        version = summary.version or (self.summary.version if self.summary else "")
        self.summary, self.at = replace(summary, version=version), time.time()
