"""A real `ase-exporter serve` in a process of its own, with a state directory and annotations."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from tests.exporter.running_exporter import RunningExporter, exporter


@dataclass(frozen=True)
class Serving:
    """The exporter while it runs."""

    running: RunningExporter

    @property
    def url(self) -> str:
        """URL of the server."""
        return self.running.url

    def get(self, path: str) -> str:
        """The body of a page."""
        return httpx2.get(self.url + path, timeout=60).raise_for_status().text


@contextmanager
def serving(directory: Path, configuration: str) -> Iterator[Serving]:
    """Run it with that configuration until the block ends."""
    options = [f"--state-dir={directory / 'state'}", "--web.enable-annotations"]
    with exporter(directory, configuration, options) as running:
        yield Serving(running)
