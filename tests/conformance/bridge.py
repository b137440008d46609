"""Clients in other languages, as programs that are driven by lines (java/Bridge.java, go/main.go)."""

import re
import subprocess
from collections.abc import Iterator, Sequence

from tests.conformance.transcript import Row, Transcript

_MEANINGS = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
_LETTERS = {meaning: escape for escape, meaning in _MEANINGS.items()}


class Bridge:
    """One program and its one connection."""

    def __init__(
        self, name: str, command: Sequence[str], port: int, user: str, password: str, missing: dict[str, str]
    ) -> None:
        self.name = name
        self.missing = missing
        self._port = port
        self._user = user
        self._password = password
        self._command = command
        self._program = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._connected = False

    def login(self, password: str) -> Transcript:
        return self._ask("connect", "127.0.0.1", str(self._port), self._user, password)

    def batch(self, sql: str) -> Transcript:
        return self._connected_ask("batch", sql)

    def prepared(self, sql: str, parameters: list[str | int]) -> Transcript:
        typed = [f"{'i' if isinstance(value, int) else 's'}:{value}" for value in parameters]
        return self._connected_ask("prepared", sql, *typed)

    def call(self, procedure: str, argument: int) -> Transcript:
        return self._connected_ask("call", procedure, str(argument))

    def start(self, sql: str) -> None:
        self._connected_ask("start", sql)

    def cancel(self) -> Transcript:
        return self._ask("cancel")

    def close(self) -> None:
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(60)

    def _connected_ask(self, *fields: str) -> Transcript:
        if not self._connected:
            refused = self.login(self._password)
            assert not refused.errors, refused.errors
            self._connected = True
        return self._ask(*fields)

    def _ask(self, *fields: str) -> Transcript:
        assert self._program.stdin is not None
        line = "\t".join(re.sub(r"[\\\t\n\r]", lambda found: _LETTERS[found[0]], field) for field in fields)
        self._program.stdin.write(line + "\n")
        self._program.stdin.flush()
        return _read(self._answer())

    def _answer(self) -> Iterator[Row]:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            fields = [_unescaped(field) for field in line.rstrip("\n").split("\t")]
            if fields == ["end"]:
                return
            yield fields
        raise AssertionError(f"{self.name} ended with {self._program.wait(60)}")


def _unescaped(text: str) -> str | None:
    return None if text == "\\N" else re.sub(r"\\[\\tnr]", lambda found: _MEANINGS[found[0]], text)


def _read(lines: Iterator[Row]) -> Transcript:
    transcript = Transcript()
    for kind, *fields in lines:
        words = [str(field) for field in fields]
        if kind == "set":
            transcript.sets.append([])
        elif kind == "row":
            transcript.sets[-1].append(fields)
        elif kind == "count":
            transcript.counts.append(int(words[0]))
        elif kind == "message":
            transcript.messages.append((words[0], words[1]))
        elif kind == "error":
            transcript.errors.append((words[0], words[1]))
        elif kind == "output":
            transcript.outputs += fields
        elif kind == "status":
            transcript.status = words[0]
        else:
            raise AssertionError((kind, fields))
    return transcript
