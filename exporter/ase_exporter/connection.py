"""One connection to one ASE over pyodbc and FreeTDS, every call bounded by a deadline.

FreeTDS's own timeouts are not enough: a server that sends a row a second never times out, and a login that
is accepted but never answered blocks for ever once FreeTDS's timer has fired. So a watchdog cancels at the
deadline and, when that is ignored, shuts the driver's socket down. Deadlines are time.monotonic() values.
Nothing here may run on the main thread: signals would wait for the driver.
"""

import contextlib
import re
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Self

import pyodbc

from ase_exporter.driver_socket import (
    DriverSocket,
    free_descriptor,
    new_socket,
    new_sockets_to,
    shut_down_login,
)
from ase_exporter.errors import AseExporterError, UserError
from ase_exporter.table import BULK, Table
from ase_exporter.turns import turns
from ase_exporter.watchdog import Watchdog

Row = Sequence[object]
Kind = Literal[
    "driver_missing",
    "unknown_host",
    "refused",
    "unreachable",
    "login_failed",
    "login_locked",
    "login_suspended",
    "no_connections",
    "deadline",
    "lost",
    "loading",
    "shutting_down",
    "query_failed",
    "too_many_rows",
    "out_of_step",
]

# How long a cancelled call may take to come back before its socket is shut down.
CANCEL_GRACE = 0.25
# What a call of the driver may take at least.
LEAST = 0.1
# FreeTDS must not reach its own login timeout (see above), so the watchdog acts this much earlier.
LOGIN_LEAD = 0.4
# No table that is read for metrics comes near it; one that does must not fill our memory.
MOST_ROWS = 100_000

# What pyodbc makes of values that cannot be: an hour 77, a length beyond all memory.
_UNREADABLE = (ValueError, ArithmeticError, MemoryError)

_PREFIX = "[FreeTDS][SQL Server]"
_SERVER_MESSAGE = re.compile(
    r"\[FreeTDS\]\[SQL Server\](?P<text>.*) \((?P<number>\d+)\) \(SQL\w+\)$", re.DOTALL
)
# FreeTDS's own numbers: broken streams, dead sockets.
_FREETDS_MESSAGES = range(20000, 21000)
_KIND_BY_MESSAGE: dict[int, Kind] = {
    4001: "login_failed",
    4002: "login_failed",
    4067: "login_locked",
    1601: "no_connections",
    937: "loading",
    938: "loading",
    6002: "shutting_down",
    6004: "shutting_down",
    20003: "deadline",
    20009: "refused",
    20012: "unknown_host",
    20013: "unknown_host",
    20014: "login_failed",
}

_watchdog = Watchdog()
# To find the socket of a login in flight, no other login to the same address may be in flight.
_logins: defaultdict[tuple[str, int], threading.Lock] = defaultdict(threading.Lock)


class DatabaseError(AseExporterError):
    """What went wrong between us and ASE.

    number: the server's message number, where there is one; usable: the connection can go on being used.
    """

    def __init__(self, kind: Kind, text: str, number: int | None = None, *, usable: bool = False) -> None:
        super().__init__(text if number is None else f"Msg {number}: {text}")
        self.kind = kind
        self.number = number
        self.usable = usable


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens and how to talk to it."""

    host: str
    port: int
    charset: str = "UTF-8"
    encrypt_password: bool = False


class Connection:
    """An open connection. Not to be shared between threads; one statement at a time (TDS 5.0 has no more)."""

    def __init__(self, raw: pyodbc.Connection, its_socket: DriverSocket) -> None:
        self._raw = raw
        self._socket = its_socket
        # Statements that gave many rows, and how many; those of them with columns that cannot be bound.
        self._large: dict[str, int] = {}
        self._unbindable: set[str] = set()
        its_socket.keep()

    @classmethod
    def open(
        cls,
        endpoint: Endpoint,
        user: str,
        password: str,
        *,
        deadline: float,
        program: str = "ase-exporter",
    ) -> Self:
        """Log in. Raises DatabaseError, at the latest at the deadline (whole seconds, at least one)."""
        with turns.given():
            address = _resolve(endpoint)
        # FreeTDS knows whole seconds only.
        seconds = int(deadline - time.monotonic())
        if seconds < 1:
            raise DatabaseError("deadline", f"no time left to log in to {endpoint.host}:{endpoint.port}")
        with _only_login_to(address):
            likely = free_descriptor()
            started = time.monotonic()
            cut_off = partial(shut_down_login, likely, address)
            try:
                words = _connection_string(endpoint, address, user, password, program)
                with turns.given(), _watchdog.guard((started + seconds - LOGIN_LEAD, cut_off)):
                    raw = pyodbc.connect(words, autocommit=True, timeout=seconds)
            except pyodbc.Error as error:
                late = time.monotonic() - started >= seconds - LOGIN_LEAD
                raise _login_error(str(error.args[-1]), endpoint, late) from None
            its_socket = new_socket(likely, address)
            if its_socket is None:
                found = new_sockets_to(address)
                if len(found) != 1:
                    raw.close()
                    raise DatabaseError(
                        "lost", f"{endpoint.host}:{endpoint.port} closed the connection at login"
                    )
                its_socket = found.pop()
            return cls(raw, its_socket)

    def query(self, sql: str, deadline: float) -> list[Row]:
        """The rows of the first result set, at most MOST_ROWS, in select order. Raises DatabaseError."""
        cursor = self._raw.cursor()
        cancel = partial(_cancel, cursor)
        with turns.given(), self._bounded(cancel, deadline):
            cursor.execute(sql)
        with self._bounded(cancel, deadline):
            rows = _rows(cursor)
            while cursor.nextset():
                pass
        return rows

    def together(self, selects: Sequence[str], limit: Callable[[], float]) -> Iterator[list[Row]]:
        """The rows of several selects, sent at once: one round trip.

        limit: asked before each result for its deadline. A result is given when the next one has begun: an
        error may come behind its rows. DatabaseError where the batch breaks off; `out_of_step` where there are
        not as many results as selects, and what was given may be another's.
        """
        cursor = self._raw.cursor()
        cancel = partial(_cancel, cursor)
        rows: list[Row] = []
        try:
            for number in range(len(selects) + 1):
                deadline = limit()
                with self._wait(), self._bounded(cancel, deadline):
                    more = cursor.nextset() if number else cursor.execute("\n".join(selects))
                if bool(more and cursor.description) != (number < len(selects)):
                    text = f"{len(selects)} selects: result {number + 1} is none of theirs"
                    raise DatabaseError("out_of_step", text, usable=True)
                if number:
                    self._note_size(selects[number - 1], len(rows))
                    yield rows
                if more:
                    with self._bounded(cancel, deadline):
                        rows = _rows(cursor)
        except DatabaseError:
            # What is left has to be called off, for which the server is needed.
            with contextlib.suppress(DatabaseError), self._bounded(cancel, time.monotonic()):
                cursor.close()
            raise

    def read(self, sql: str, deadline: float) -> Table | list[Row]:
        """As `query`; by columns where the statement gave many rows the last time."""
        known = self._large.get(sql, 0)
        rows = self._read_bound(sql, known, deadline) if self.is_large(sql) else self.query(sql, deadline)
        self._note_size(sql, len(rows))
        return rows

    def is_large(self, sql: str) -> bool:
        """Whether `read` gets that statement by columns."""
        return sql in self._large and sql not in self._unbindable

    def _note_size(self, sql: str, rows: int) -> None:
        if rows >= BULK:
            self._large[sql] = rows
        else:
            self._large.pop(sql, None)

    def _read_bound(self, sql: str, known: int, deadline: float) -> Table | list[Row]:
        # numpy comes with it: only for those who have large tables.
        from ase_exporter import odbc

        statement = odbc.Statement(self._raw.hdbc)
        with statement:
            try:
                with turns.given(), self._bounded(statement.cancel, deadline):
                    statement.execute(sql)
                with self._bounded(statement.cancel, deadline):
                    table = statement.table(known + known // 8, MOST_ROWS)
                    while statement.more():
                        pass
                return table
            except odbc.TooManyRowsError:
                raise DatabaseError("too_many_rows", f"more than {MOST_ROWS} rows", usable=True) from None
            except odbc.UnbindableError:
                self._unbindable.add(sql)
            finally:
                # It may have to wait for the server.
                with self._bounded(statement.cancel, deadline):
                    statement.close()
        return self.query(sql, deadline)

    def printed(self, sql: str, deadline: float) -> list[str]:
        """What a procedure prints, in the order in which it comes; result sets are passed over.

        A server error in the middle stands among the lines as isql shows it. Raises DatabaseError if it came
        first, and for all that makes the connection useless.
        """
        cursor = self._raw.cursor()
        cancel = partial(_cancel, cursor)
        lines: list[str] = []
        try:
            with turns.given(), self._bounded(cancel, deadline):
                cursor.execute(sql)
            with self._bounded(cancel, deadline):
                lines += _texts(cursor)
                while cursor.nextset():
                    lines += _texts(cursor)
        except DatabaseError as wrong:
            if not lines or not wrong.usable or wrong.number is None:
                raise
            lines += [f"Msg {wrong.number}, Level 16, State 1:", str(wrong)]
        return lines

    def _wait(self) -> AbstractContextManager[None]:
        """Let others have the turn within the block, unless more has already come than the driver has taken."""
        return contextlib.nullcontext() if self._socket.waiting() else turns.given()

    def received(self) -> int:
        """Bytes that the server has sent over this connection; 0 if its socket is gone."""
        return self._socket.received()

    @contextmanager
    def _bounded(self, cancel: Callable[[], None], deadline: float) -> Iterator[None]:
        """A call of the driver within its bounds; what it raises becomes a DatabaseError.

        Not to be used around a wait for one's turn: that takes as long as others take.
        """
        # Who had to wait beyond the deadline may take what came meanwhile: to log in anew would cost more.
        until = max(deadline, time.monotonic() + LEAST)
        cut_off = self._socket.shut_down
        done: list[Callable[[], None]] = []

        def step(action: Callable[[], None]) -> Callable[[], None]:
            def act() -> None:
                done.append(action)
                action()

            return act

        try:
            with _watchdog.guard((until, step(cancel)), (until + CANCEL_GRACE, step(cut_off))):
                yield
        except pyodbc.Error as error:
            if not done:
                raise _query_error(str(error.args[-1])) from None
        except _UNREADABLE as error:
            raise DatabaseError("lost", f"an answer that cannot be read: {error}") from None
        if done:
            # Whether the driver says so or takes what was cut off for the end.
            raise DatabaseError("deadline", "the statement did not end in time", usable=cut_off not in done)

    def close(self) -> None:
        """Close; never waits for a server that does not answer."""
        self._socket.release()
        limit = time.monotonic() + CANCEL_GRACE
        with (
            _watchdog.guard((limit, self._socket.shut_down)),
            contextlib.suppress(pyodbc.Error),
        ):
            self._raw.close()


@contextmanager
def _only_login_to(address: tuple[str, int]) -> Iterator[None]:
    with turns.given():
        _logins[address].acquire()
    try:
        yield
    finally:
        _logins[address].release()


def _connection_string(
    endpoint: Endpoint, address: tuple[str, int], user: str, password: str, program: str
) -> str:
    # TDS_Version: left out, FreeTDS tries TDS 7 first, on a connection of its own.
    plain = f"DRIVER=FreeTDS;TDS_Version=5.0;SERVER={address[0]};PORT={address[1]};"
    plain += f"ClientCharset={endpoint.charset};"
    if endpoint.encrypt_password:
        plain += "Encryption=require;"
    free = {"UID": user, "PWD": password, "APP": program}
    return plain + "".join(f"{key}={{{_fenced(key, value)}}};" for key, value in free.items())


def _fenced(key: str, value: str) -> str:
    """A value that stands in braces. FreeTDS knows no escape: it reads on to the first `};`."""
    if "};" in value or "\0" in value:
        raise UserError(f"{key} of the login holds '}};' or NUL, which FreeTDS cannot send")
    return value


def _resolve(endpoint: Endpoint) -> tuple[str, int]:
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError:
        raise DatabaseError("unknown_host", f"{endpoint.host}: no such host") from None
    host, port = found[0][4][:2]
    return str(host), int(port)


def _rows(cursor: pyodbc.Cursor) -> list[Row]:
    """All rows of the current result."""
    rows: list[Row] = cursor.fetchmany(MOST_ROWS + 1) if cursor.description else []
    if len(rows) > MOST_ROWS:
        cursor.close()
        raise DatabaseError("too_many_rows", f"more than {MOST_ROWS} rows", usable=True)
    return rows


def _cancel(cursor: pyodbc.Cursor) -> None:
    with contextlib.suppress(pyodbc.Error):
        cursor.cancel()


def _texts(cursor: pyodbc.Cursor) -> list[str]:
    """The messages that came with the present result set."""
    return [text.removeprefix(_PREFIX) for _, text in cursor.messages or ()]


def _server_message(said: str) -> tuple[int | None, str]:
    """Message number and text. SQLSTATE is not asked: FreeTDS picks it by chance."""
    text = " ".join(said.split())
    match = _SERVER_MESSAGE.search(text)
    if match:
        return int(match["number"]), match["text"].strip()
    number = re.search(r"\((\d+)\) \(SQL\w+\)", text)
    return (int(number[1]) if number else None), re.sub(r"^(\[[^]]*\])+", "", text)


def _login_error(said: str, endpoint: Endpoint, late: bool) -> DatabaseError:
    number, text = _server_message(said)
    where = f"{endpoint.host}:{endpoint.port}"
    if "Can't open lib" in text or "Data source name not found" in text:
        driver = Path("/etc/odbcinst.ini")
        return DatabaseError(
            "driver_missing",
            f"the ODBC driver FreeTDS is not installed (no [FreeTDS] in {driver}): install tdsodbc",
        )
    if late:
        return DatabaseError("deadline", f"{where} did not answer the login in time")
    kind = _KIND_BY_MESSAGE.get(number or 0, "unreachable")
    if kind == "refused":
        return DatabaseError(kind, f"{where} refused the connection")
    if kind == "login_failed":
        return DatabaseError(kind, f"{where} refused the login: {text}", number)
    return DatabaseError(kind, f"{where}: {text}", number or None)


def _query_error(said: str) -> DatabaseError:
    number, text = _server_message(said)
    if not number:
        return DatabaseError("lost", text)
    kind = _KIND_BY_MESSAGE.get(number, "lost" if number in _FREETDS_MESSAGES else "query_failed")
    return DatabaseError(kind, text, number, usable=kind in ("query_failed", "loading"))
