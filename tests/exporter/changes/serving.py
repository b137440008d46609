"""A real `ase-exporter serve` in a process of its own, with a state directory and annotations."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
from tests.paths import REPOSITORY


class Serving:
    """Started on a free port; stop() ends it, start() starts it again on the same port."""

    def __init__(self, directory: Path, config: str, state_directory: Path | None = None) -> None:
        self.state_directory = state_directory or directory / "state"
        self._config = directory / "config.yaml"
        self._config.write_text(config)
        self._log = directory / "exporter.log"
        self._address = "127.0.0.1:0"
        self.start()
        self._address = self.url.removeprefix("http://")

    def start(self) -> None:
        """Start and wait until it listens."""
        options = [
            f"--config.file={self._config}",
            f"--web.listen-address={self._address}",
            f"--state-dir={self.state_directory}",
            "--web.enable-annotations",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ase_exporter", "serve", *options],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": "exporter"},
            stderr=self._log.open("w"),
        )
        self.wait_until(lambda: self._process.poll() is not None or self._answers())
        if not self._answers():
            raise AssertionError(self.log())

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM."""
        self._process.terminate()
        self._process.wait(60)

    def log(self) -> str:
        """What it has written since it was started."""
        return self._log.read_text()

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.log().partition("listening on ")[2].partition(",")[0]

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

    def _answers(self) -> bool:
        if "listening on " not in self.log():
            return False
        try:
            return httpx2.get(self.url + "/-/healthy", timeout=30).is_success
        except httpx2.HTTPError:
            return False
