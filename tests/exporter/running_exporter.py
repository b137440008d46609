"""`ase-exporter serve` as a real process, for tests of TLS, signals, output and limits."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import httpx2
import psutil
from tests.planted import DATABASE
from tests.programs import SOON, START

from ase_exporter.commands.app import build
from ase_exporter.web.app import TIMEOUT_HEADER

# Scrape settings for a busy machine, where starting, logging in and reading may take long: no budget leaves out what
# took long before.
PATIENT = {"timeout": "60s", "connect_timeout": "60s", "budget": None}


class RunningExporter:
    """The process and its stderr, line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._lines: list[str] = []
        self._written = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for(self, text: str, seconds: float = SOON) -> str:
        """The first line that contains the text; waits for it if need be."""

        def found() -> str | None:
            return next((line for line in self._lines if text in line), None)

        with self._written:
            assert self._written.wait_for(lambda: found() or not self._reader.is_alive(), seconds), (
                self._lines
            )
            line = found()
            assert line, self._lines
            return line

    @property
    def log(self) -> str:
        """Everything written so far."""
        with self._written:
            return "".join(self._lines)

    @property
    def url(self) -> str:
        """URL of the server."""
        return self.wait_for("listening on ", START).partition("listening on ")[2].partition(",")[0]

    def get(self, path: str, seconds: float = 60.0) -> str:
        """The answer to a request, which a scrape has so many seconds for."""
        answer = httpx2.get(
            f"{self.url}{path}", headers={TIMEOUT_HEADER: str(seconds)}, trust_env=False, timeout=90
        )
        assert answer.status_code == 200
        return answer.text

    def processes(self) -> list[psutil.Process]:
        """The supervisor, then the process that serves."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        self.process.terminate()
        try:
            status = self.process.wait(START)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join(START)
        assert self.process.stderr
        self.process.stderr.close()
        return status

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._written:
                self._lines.append(line)
                self._written.notify_all()
        with self._written:
            self._written.notify_all()


def configuration(
    addresses: Mapping[str, tuple[str, int]], password: str = DATABASE, **settings: object
) -> str:
    """The configuration for targets by name: without changes, and patient, unless the settings say otherwise."""
    usual = {"scrape": PATIENT, "changes": {"enabled": False}}
    # YAML reads JSON.
    return json.dumps(
        {
            "targets": [
                {"name": name, "host": host, "port": port} for name, (host, port) in addresses.items()
            ],
            "auth": {"default": {"user": "monitor", "password": password}},
            **usual,
            **settings,
        }
    )


COMMAND = (sys.executable, "-m", "ase_exporter")


def _parsed(arguments: Sequence[str]) -> tuple[Sequence[str], dict[str, str]]:
    """The command line and the environment of the process that `serve` with these arguments becomes."""
    with patch.dict(os.environ), patch.object(os, "execv") as execv:
        build({"serve"})(["serve", *arguments], standalone_mode=False)
        return execv.call_args.args[1], dict(os.environ)


@contextmanager
def exporter(
    directory: Path,
    configuration: str,
    options: Sequence[str] = (),
    *,
    program: Sequence[str] = (),
    working_directory: Path | None = None,
    environment: dict[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Iterator[RunningExporter]:
    """Run `serve` with that configuration on a free port until the block ends.

    program: the command, else its options are parsed here, which spares most starts half of their time.
    before: called in the child process before it becomes the exporter.
    """
    file = directory / "exporter.yml"
    file.write_text(configuration, encoding="utf-8")
    arguments = [f"--config.file={file}", "--web.listen-address=127.0.0.1:0", *options]
    own = {"STATE_DIRECTORY": str(directory / "usual-state")} | (environment or {})
    with patch.dict(os.environ, own):
        line, variables = (
            ([*program, "serve", *arguments], dict(os.environ)) if program else _parsed(arguments)
        )
    running = RunningExporter(
        subprocess.Popen(
            line, stderr=subprocess.PIPE, text=True, cwd=working_directory, env=variables, preexec_fn=before
        )
    )
    try:
        running.wait_for("listening on ", START)
        yield running
    finally:
        running.stop()
