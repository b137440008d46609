"""A real `ase-exporter serve` in a process of its own, with a state directory and annotations."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
from tests.exporter.running_exporter import RunningExporter


class Serving:
    """Started on a free port; stop() ends it, start() starts it again."""

    def __init__(self, directory: Path, config: str) -> None:
        self.state_directory = directory / "state"
        self._config = directory / "config.yaml"
        self._config.write_text(config)
        self.start()

    def start(self) -> None:
        """Start and wait until it listens."""
        options = [
            f"--config.file={self._config}",
            "--web.listen-address=127.0.0.1:0",
            f"--state-dir={self.state_directory}",
            "--web.enable-annotations",
        ]
        command = [sys.executable, "-m", "ase_exporter", "serve", *options]
        self._running = RunningExporter(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        self.url = self._running.url

    def kill(self) -> None:
        """SIGKILL."""
        self._running.process.kill()
        self._running.stop()

    def stop(self) -> None:
        """SIGTERM."""
        self._running.stop()

    def log(self) -> str:
        """What it has written since it was started."""
        return self._running.log

    def get(self, path: str) -> str:
        """The body of a page."""
        return httpx2.get(self.url + path, timeout=60).raise_for_status().text

    @staticmethod
    def wait_until(condition: Callable[[], bool], seconds: float = 60) -> bool:
        """False if it does not come true in time."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True
