"""A real `ase-exporter serve` in a process of its own, with a state directory and annotations."""

from pathlib import Path

import httpx2
from tests.exporter.running_exporter import exporter


class Serving:
    """Started on a free port; stop() ends it, start() starts it again."""

    def __init__(self, directory: Path, config: str) -> None:
        self.state_directory = directory / "state"
        self._directory = directory
        self._config = config
        self.start()

    def start(self) -> None:
        """Start and wait until it listens."""
        options = [f"--state-dir={self.state_directory}", "--web.enable-annotations"]
        self._process = exporter(self._directory, self._config, options)
        self._running = self._process.__enter__()
        self.url = self._running.url

    def kill(self) -> None:
        """SIGKILL."""
        self._running.process.kill()
        self.stop()

    def stop(self) -> None:
        """SIGTERM."""
        self._process.__exit__(None, None, None)

    def log(self) -> str:
        """What it has written since it was started."""
        return self._running.log

    def get(self, path: str) -> str:
        """The body of a page."""
        return httpx2.get(self.url + path, timeout=60).raise_for_status().text
