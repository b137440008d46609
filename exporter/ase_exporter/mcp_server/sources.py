"""Where answers come from: a Prometheus, perhaps an exporter, perhaps a directory of sp_sysmon reports."""

import time
from dataclasses import dataclass
from pathlib import Path

from ase_exporter.analysis import Prometheus, marks
from ase_exporter.compare.windows import Mark

# Limits of one call of a tool.
REQUEST_SECONDS = 20.0
CALL_SECONDS = 60.0
MAX_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Sources:
    """prometheus, exporter: URLs; exporter may be None. selector: more label matchers of servers.

    reports: the directory of sp_sysmon reports, or None.
    """

    prometheus: str
    exporter: str | None = None
    selector: str = ""
    reports: Path | None = None

    def connect(self) -> Prometheus:
        """A client for one call of a tool, with its limits. Raises UserError for a bad URL."""
        deadline = time.monotonic() + CALL_SECONDS
        return Prometheus(self.prometheus, timeout=REQUEST_SECONDS, max_bytes=MAX_BYTES, deadline=deadline)

    def changes(self, prometheus: Prometheus, server: str, start: float, end: float) -> list[Mark]:
        """The changes of a server between two Unix times, in order of time."""
        return marks(prometheus, server, start, end, exporter=self.exporter, selector=self.selector)
