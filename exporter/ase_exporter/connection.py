"""One connection to one ASE over pyodbc and FreeTDS, every call bounded by a deadline.

FreeTDS's own timeouts are not enough: a server that sends a row a second never times out, and a login that
is accepted but never answered blocks for ever once FreeTDS's timer has fired. So a watchdog cancels at the
deadline and, when that is ignored, shuts the driver's socket down. Deadlines are time.monotonic() values.
Nothing here may run on the main thread: signals would wait for the driver.
"""

import contextlib
import os
import re
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, Self

import pyodbc

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
]

# How long a cancelled call may take to come back before its socket is shut down.
CANCEL_GRACE = 0.25
# FreeTDS must not reach its own login timeout (see above), so the watchdog acts this much earlier.
LOGIN_LEAD = 0.4
# struct tcp_info of linux/tcp.h: how many bytes have come in, an u64.
_BYTES_RECEIVED = struct.Struct("=128xQ")
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
_known_sockets: set["Socket"] = set()


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
class Socket:
    """A socket of this process; the inode tells it from a later one with the same descriptor.

    A duplicate that another thread holds for a moment is the same socket.
    """

    descriptor: int = field(compare=False)
    inode: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens and how to talk to it."""

    host: str
    port: int
    charset: str = "UTF-8"
    encrypt_password: bool = False


class Connection:
    """An open connection. Not to be shared between threads; one statement at a time (TDS 5.0 has no more)."""

    def __init__(self, raw: pyodbc.Connection, its_socket: Socket) -> None:
        self._raw = raw
        self._socket = its_socket
        # Statements that gave many rows, and how many; those of them with columns that cannot be bound.
        self._large: dict[str, int] = {}
        self._unbindable: set[str] = set()
        _known_sockets.add(its_socket)

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
            likely = _free_descriptor()
            started = time.monotonic()
            cut_off = partial(_shut_down_login, likely, address)
            try:
                with _watchdog.guard((started + seconds - LOGIN_LEAD, cut_off)):
                    words = _connection_string(endpoint, address, user, password, program)
                    with turns.given():
                        raw = pyodbc.connect(words, autocommit=True, timeout=seconds)
            except pyodbc.Error as error:
                late = time.monotonic() - started >= seconds - LOGIN_LEAD
                raise _login_error(str(error.args[-1]), endpoint, late) from None
            its_socket = _new_socket(likely, address)
            if its_socket is None:
                found = _new_sockets_to(address)
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
        with self._bounded(partial(_cancel, cursor), deadline):
            try:
                with turns.given():
                    cursor.execute(sql)
                rows: list[Row] = cursor.fetchmany(MOST_ROWS + 1) if cursor.description else []
                if len(rows) > MOST_ROWS:
                    cursor.close()
                    raise DatabaseError("too_many_rows", f"more than {MOST_ROWS} rows", usable=True)
                while cursor.nextset():
                    pass
            except pyodbc.Error as error:
                raise _query_error(str(error.args[-1]), time.monotonic() - deadline) from None
            except _UNREADABLE as error:
                raise DatabaseError("lost", f"an answer that cannot be read: {error}") from None
        return rows

    def read(self, sql: str, deadline: float) -> Table | list[Row]:
        """As `query`; by columns where the statement gave many rows the last time."""
        if (known := self._large.get(sql, 0)) and sql not in self._unbindable:
            rows: Table | list[Row] = self._read_bound(sql, known, deadline)
        else:
            rows = self.query(sql, deadline)
        if len(rows) >= BULK:
            self._large[sql] = len(rows)
        else:
            self._large.pop(sql, None)
        return rows

    def _read_bound(self, sql: str, known: int, deadline: float) -> Table | list[Row]:
        # numpy comes with it: only for those who have large tables.
        from ase_exporter import odbc

        statement = odbc.Statement(self._raw.hdbc)
        with statement, self._bounded(statement.cancel, deadline):
            try:
                with turns.given():
                    statement.execute(sql)
                table = statement.table(known + known // 8, MOST_ROWS)
                while statement.more():
                    pass
                return table
            except odbc.OdbcError as error:
                raise _query_error(str(error), time.monotonic() - deadline) from None
            except odbc.TooManyRowsError:
                raise DatabaseError("too_many_rows", f"more than {MOST_ROWS} rows", usable=True) from None
            except _UNREADABLE as error:
                raise DatabaseError("lost", f"an answer that cannot be read: {error}") from None
            except odbc.UnbindableError:
                self._unbindable.add(sql)
            finally:
                # Within the bounds: it may have to wait for the server.
                statement.close()
        return self.query(sql, deadline)

    def printed(self, sql: str, deadline: float) -> list[str]:
        """What a procedure prints, in the order in which it comes; result sets are passed over.

        A server error in the middle stands among the lines as isql shows it. Raises DatabaseError if it came
        first, and for all that makes the connection useless.
        """
        cursor = self._raw.cursor()
        lines: list[str] = []
        with self._bounded(partial(_cancel, cursor), deadline):
            try:
                with turns.given():
                    cursor.execute(sql)
                lines += _texts(cursor)
                while cursor.nextset():
                    lines += _texts(cursor)
            except pyodbc.Error as error:
                wrong = _query_error(str(error.args[-1]), time.monotonic() - deadline)
                if not lines or not wrong.usable or wrong.number is None:
                    raise wrong from None
                lines += [f"Msg {wrong.number}, Level 16, State 1:", str(wrong)]
        return lines

    def received(self) -> int:
        """Bytes that the server has sent over this connection; 0 if its socket is gone."""
        with _duplicate(self._socket.descriptor) as duplicate:
            if duplicate is None or os.fstat(duplicate.fileno()).st_ino != self._socket.inode:
                return 0
            told = duplicate.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.size)
        return int(_BYTES_RECEIVED.unpack(told)[0]) if len(told) == _BYTES_RECEIVED.size else 0

    def _bounded(self, cancel: Callable[[], None], deadline: float) -> AbstractContextManager[None]:
        return _watchdog.guard(
            (deadline, cancel),
            (deadline + CANCEL_GRACE, partial(_shut_down, self._socket)),
        )

    def close(self) -> None:
        """Close; never waits for a server that does not answer."""
        _known_sockets.discard(self._socket)
        limit = time.monotonic() + CANCEL_GRACE
        with (
            _watchdog.guard((limit, partial(_shut_down, self._socket))),
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


def _free_descriptor() -> int:
    """What the next socket gets, unless another thread is quicker: looking at all of hundreds would take long."""
    try:
        free = os.dup(0)
    except OSError:
        return -1
    os.close(free)
    return free


def _new_socket(descriptor: int, address: tuple[str, int]) -> Socket | None:
    """The socket of that descriptor, if it is connected to the address and of no open connection."""
    try:
        kind, _, inode = os.readlink(f"/proc/self/fd/{descriptor}").partition(":")  # noqa: PTH115  # often
    except OSError:
        return None
    if kind != "socket" or (found := Socket(descriptor, int(inode[1:-1]))) in _known_sockets:
        return None
    return found if _peer(descriptor) == address else None


def _new_sockets_to(address: tuple[str, int]) -> set[Socket]:
    """The sockets of this process that are connected to an address, but for those of open connections."""
    descriptors = map(int, os.listdir("/proc/self/fd"))  # noqa: PTH208  # names only
    return {found for descriptor in descriptors if (found := _new_socket(descriptor, address))}


def _peer(descriptor: int) -> tuple[str, int] | None:
    """Where a socket is connected to. The descriptor stays its owner's: many look here at the same time."""
    try:
        borrowed = socket.socket(fileno=descriptor)
    except OSError:
        return None
    try:
        peer = borrowed.getpeername()
    except OSError:
        return None
    finally:
        borrowed.detach()
    return (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else None


@contextmanager
def _duplicate(descriptor: int) -> Iterator[socket.socket | None]:
    """A socket object of our own on a descriptor that the driver owns; None if it is no socket (any more)."""
    try:
        duplicate = os.dup(descriptor)
    except OSError:
        yield None
        return
    try:
        own = socket.socket(fileno=duplicate)
    except OSError:
        os.close(duplicate)
        yield None
        return
    with own:
        yield own


def _shut_down_login(likely: int, address: tuple[str, int]) -> None:
    # To look at all of a thousand may take longer than there is time (see LOGIN_LEAD).
    its_socket = _new_socket(likely, address)
    for found in {its_socket} if its_socket else _new_sockets_to(address):
        _shut_down(found)


def _shut_down(its_socket: Socket) -> None:
    with _duplicate(its_socket.descriptor) as duplicate:
        if duplicate is not None and os.fstat(duplicate.fileno()).st_ino == its_socket.inode:
            with contextlib.suppress(OSError):
                duplicate.shutdown(socket.SHUT_RDWR)


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


def _query_error(said: str, late_by: float) -> DatabaseError:
    number, text = _server_message(said)
    if late_by >= 0:
        # Back before its socket was shut down: the server obeyed the cancel.
        usable = late_by < CANCEL_GRACE
        return DatabaseError("deadline", "the statement did not end in time", usable=usable)
    if not number:
        return DatabaseError("lost", text)
    kind = _KIND_BY_MESSAGE.get(number, "lost" if number in _FREETDS_MESSAGES else "query_failed")
    return DatabaseError(kind, text, number, usable=kind in ("query_failed", "loading"))
