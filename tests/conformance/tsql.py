"""tsql, the command-line client of FreeTDS over libtds: one process a batch, read from what it prints."""

import os
import re
import signal
import subprocess
from pathlib import Path

from tests.conformance.transcript import Row, Transcript

_ERROR = re.compile(
    r"^Msg (\d+)(?:, Level| \(severity) 1[1-9]|^\[(?!01000)\w{5}\]\[FreeTDS\]()", re.MULTILINE
)

_SEPARATOR = "\ngo\n"


class Tsql:
    """It reaches the server as SIMULATED by a configuration file, which is written to the folder."""

    def __init__(self, port: int, user: str, password: str, folder: Path) -> None:
        self.name = "tsql"
        self._password = password
        self._user = user
        configuration = folder / "freetds.conf"
        configuration.write_text(
            f"[SIMULATED]\nhost = 127.0.0.1\nport = {port}\ntds version = 5.0\nclient charset = UTF-8\n"
        )
        self._environment = {
            **os.environ,
            "FREETDSCONF": str(configuration),
            "LC_ALL": "C.UTF-8",
            "HOME": str(folder),
        }
        self._running: subprocess.Popen[str] | None = None

    def login(self, password: str) -> Transcript:
        return self._run("select 1", password)

    def batch(self, sql: str) -> Transcript:
        return self._run(sql, self._password)

    def start(self, sql: str) -> None:
        self._running = self._open(self._password)
        assert self._running.stdin is not None
        self._running.stdin.write(sql + _SEPARATOR)
        self._running.stdin.flush()

    def cancel(self) -> Transcript:
        """Ctrl-C, which ends the program or the batch."""
        assert self._running is not None
        self._running.send_signal(signal.SIGINT)
        output, errors = self._running.communicate(timeout=60)
        self._running = None
        return self._read(output, errors)

    def close(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.communicate()

    def _open(self, password: str) -> subprocess.Popen[str]:
        # Who runs the tests in the background may have Ctrl-C ignored, which a child would inherit.
        command = ["tsql", "-S", "SIMULATED", "-U", self._user, "-P", password, "-o", "fhq"]
        return subprocess.Popen(
            ["env", "--default-signal=INT", *command],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def _run(self, sql: str, password: str) -> Transcript:
        program = self._open(password)
        output, errors = program.communicate(sql + _SEPARATOR, timeout=60)
        transcript = self._read(output, errors)
        if program.returncode and not transcript.errors:
            transcript.errors.append(("", output + errors))
        return transcript

    def _read(self, output: str, errors: str) -> Transcript:
        everything = f"{output}\n{errors}"
        transcript = Transcript([_rows(output)], parted=False, messages=[("", everything)])
        for found in _ERROR.finditer(everything):
            transcript.errors.append((found[1] or "", everything[found.start() :]))
        return transcript


def _rows(text: str) -> list[Row]:
    return [list[str | None](line.split("\t")) for line in text.splitlines()]
