"""A real `ase-exporter serve` as a process, for what only a process shows: TLS, signals, output, limits."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

# For `scrape` of a configuration: a busy machine may take long to start a worker and to log in.
PATIENT = {"timeout": "60s", "connect_timeout": "60s"}


class RunningExporter:
    """A process and what it writes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._lines: list[str] = []
        self._said = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """The first line that holds the text, which may come later."""

        def found() -> str | None:
            return next((line for line in self._lines if text in line), None)

        with self._said:
            assert self._said.wait_for(lambda: found() or not self._reader.is_alive(), seconds), self._lines
            line = found()
            assert line, self._lines
            return line

    @property
    def log(self) -> str:
        """All it has written so far."""
        with self._said:
            return "".join(self._lines)

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.wait_for("listening on ").partition("listening on ")[2].partition(",")[0]

    def processes(self) -> list[psutil.Process]:
        """It and its workers."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def stop(self) -> int:
        """SIGTERM; the status that it ends with."""
        self.process.terminate()
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join(60)
        assert self.process.stderr
        self.process.stderr.close()
        return status

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._said:
                self._lines.append(line)
                self._said.notify_all()
        with self._said:
            self._said.notify_all()


@contextmanager
def exporter(
    directory: Path,
    configuration: str,
    options: Sequence[str] = (),
    *,
    environment: dict[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Iterator[RunningExporter]:
    """Runs with that configuration on a free port to the end of the block. before: called in the child."""
    (directory / "exporter.yml").write_text(configuration, encoding="utf-8")
    command = [sys.executable, "-m", "ase_exporter", "serve", f"--config.file={directory / 'exporter.yml'}"]
    running = RunningExporter(
        subprocess.Popen(
            [*command, "--web.listen-address=127.0.0.1:0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
            preexec_fn=before,
        )
    )
    try:
        running.wait_for("listening on ")
        yield running
    finally:
        running.stop()
