"""pyodbc over FreeTDS."""

import re
import threading
from typing import Any

import pyodbc
from tests.conformance.transcript import Row, Transcript

# unixODBC's word for "general warning", which is how FreeTDS passes PRINT on
_NUMBER = re.compile(r"\((-?\d+)\)")


class Odbc:
    name = "pyodbc"

    def __init__(self, port: int, user: str, password: str) -> None:
        self._server = f"DRIVER=FreeTDS;SERVER=127.0.0.1;PORT={port};TDS_Version=5.0;UID={user}"
        self._password = password
        self._connection: Any = None
        self._running: Any = None
        self._thread: threading.Thread | None = None
        self._interrupted = Transcript()

    def login(self, password: str) -> Transcript:
        try:
            self._connection = pyodbc.connect(
                f"{self._server};PWD={password};ClientCharset=UTF-8", timeout=60, autocommit=True
            )
        except pyodbc.Error as error:
            return Transcript(errors=[_error(error)])
        return Transcript()

    def batch(self, sql: str) -> Transcript:
        with self._cursor() as cursor:
            return _run(cursor, sql)

    def start(self, sql: str) -> None:
        self._running = self._cursor()

        def run() -> None:
            self._interrupted = _run(self._running, sql)

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def cancel(self) -> Transcript:
        assert self._thread is not None
        while self._thread.is_alive():  # a cancel that comes before the driver waits for the answer is lost
            self._running.cancel()
            self._thread.join(1)
        return self._interrupted

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _cursor(self) -> Any:
        if self._connection is None:
            refused = self.login(self._password)
            assert not refused.errors, refused.errors
        return self._connection.cursor()


def _run(cursor: Any, sql: str) -> Transcript:
    transcript = Transcript()
    try:
        cursor.execute(sql)
        while True:
            transcript.messages += [_message(*told) for told in cursor.messages or []]
            if cursor.description:
                transcript.sets.append([_row(row) for row in cursor.fetchall()])
            elif cursor.rowcount >= 0:
                transcript.counts.append(cursor.rowcount)
            if not cursor.nextset():
                return transcript
    except pyodbc.Error as error:
        transcript.errors.append(_error(error))
        return transcript


def _row(values: Any) -> Row:
    return [
        value.hex() if isinstance(value, bytes) else None if value is None else str(value) for value in values
    ]


def _message(state: str, text: str) -> tuple[str, str]:
    number = _NUMBER.search(state)
    return number[1] if number else "", text


def _error(error: pyodbc.Error) -> tuple[str, str]:
    numbers = _NUMBER.findall(str(error.args[1]))
    return numbers[0] if numbers else "", str(error.args[1])
