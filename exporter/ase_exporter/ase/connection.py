"""One connection to one ASE over pyodbc and FreeTDS, every call bounded by a deadline.

FreeTDS's own timeouts are not enough: a server that sends a row a second never times out, and a login that
is accepted but never answered blocks for ever once FreeTDS's timer has fired. So a watchdog cancels at the
deadline and, if that has no effect, shuts down the driver's socket (see `timing`). Deadlines are monotonic
times of the watchdog's clock. Nothing here may run on the main thread: signals would wait for the driver.
"""

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import pyodbc

from ase_exporter.ase.call_record import call_record
from ase_exporter.ase.cost import Cost
from ase_exporter.ase.database_error import NO_FILE, login_error
from ase_exporter.ase.database_error import DatabaseError as DatabaseError
from ase_exporter.ase.driver_socket import DriverSocket, open_sockets
from ase_exporter.ase.login import PROGRAM, LoginTimeout, Permission
from ase_exporter.ase.login import Endpoint as Endpoint
from ase_exporter.ase.login import Opener as Opener
from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.ase.resolver import resolver
from ase_exporter.ase.text import CHARSET, DEFAULT, decode_text, python_codec
from ase_exporter.ase.timing import TIMING
from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG, CallBounds, Watchdog
from ase_exporter.errors import UserError
from ase_exporter.metrics.columns import Row as Row
from ase_exporter.turn import TURN

# Environment variables that FreeTDS prefers to the connection string: the password would go to another server.
_OVERRIDES = ("TDSHOST", "TDSPORT", "TDSVER")
# Bytes of a user or a password in a login record; of a password encrypted by a key of 2048 bits, with its padding (42)
# and a nonce of 32.
MAX_NAME, MAX_ENCRYPTED = 30, 256 - 42 - 32
# No table that is read for metrics comes near it; a result beyond it must not fill the memory.
MAX_ROWS = 100_000

# Bytes that the driver may read in one call, and in one call that fetches FETCH_ROWS rows. What is beyond them is
# messages: the driver keeps them all, and takes 7 s to hand over 6,400.
MAX_CALL_BYTES = 1 << 20
MAX_FETCH_BYTES = 4 << 20
FETCH_ROWS = 1000

_PREFIX = "[FreeTDS][SQL Server]"

# After these kinds of errors, another address of the host may still let us in; a password was not refused.
_TRY_NEXT_ADDRESS = frozenset(("refused", "unreachable", "deadline", "lost"))

# The socket of a login in progress is found by its address, so there may be only one per address that is not found yet.
_logins: defaultdict[tuple[str, int], threading.Lock] = defaultdict(threading.Lock)


class ServerResult(NamedTuple):
    """One result of a statement. messages: those before it. description: pyodbc's, None without a result set."""

    messages: list[str]
    description: Sequence[tuple[Any, ...]] | None
    rows: list[Row]


class Connection:
    """An open connection. For one thread; one statement at a time (TDS 5.0 has no more).

    cost: gets the statements, rows, bytes and seconds; that of a target outlives its connections.
    """

    def __init__(self, raw: pyodbc.Connection, driver_socket: DriverSocket, watchdog: Watchdog) -> None:
        self._raw = raw
        self._socket = driver_socket
        self._watchdog = watchdog
        self._monotonic = watchdog.clock.monotonic
        self.cost = Cost()
        self._counted_bytes = 0
        decode_text(raw, DEFAULT)
        open_sockets.add(driver_socket)

    @classmethod
    def open(
        cls,
        endpoint: Endpoint,
        user: str,
        password: str,
        *,
        deadline: float,
        program: str = PROGRAM,
        allow: Permission = lambda _: LOGIN_ATTEMPTS,
        note: Callable[[str], None] = lambda _: None,
        watchdog: Watchdog = SYSTEM_WATCHDOG,
    ) -> Self:
        """Log in, at the first of the host's addresses that takes part in a login.

        note: called with each address that may have refused the password, and with the one that accepted it.
        Raises DatabaseError, at the latest at the deadline (whole seconds, at least one).
        """
        for name in _OVERRIDES:
            os.environ.pop(name, None)
        string = _connection_string(endpoint, user, password, program)
        addresses = resolver.addresses(endpoint.host, deadline - watchdog.clock.monotonic())
        allowed = allow(addresses)
        now = watchdog.clock.monotonic
        log_in = partial(cls._open_at, endpoint.host, string, watchdog)
        failure, sent = DatabaseError("unknown_host", f"{endpoint.host}: it has no address"), 0
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            # The addresses that have not been tried share the time; FreeTDS needs a whole second.
            until = min(deadline, now() + max((deadline - now()) / left, 1.1)) if left > 1 else deadline
            try:
                connection = log_in((address, endpoint.port), until)
            except DatabaseError as error:
                raised = error
            else:
                note(address)
                return connection
            if sent and raised.may_be_refused and failure.unanswered:
                failure.unanswered.close()
            if not sent or raised.may_be_refused:
                failure = raised
            # Each of them may count against the account.
            if raised.may_be_refused:
                note(address)
                sent += 1
            if raised.kind not in _TRY_NEXT_ADDRESS or sent >= allowed:
                break
        failure.attempts = sent
        raise failure

    @classmethod
    def _open_at(
        cls, host: str, connection_string: str, watchdog: Watchdog, address: tuple[str, int], deadline: float
    ) -> Self:
        """Log in at one address of a host, as `open` does."""
        where = f"{host}:{address[1]}"
        monotonic = watchdog.clock.monotonic
        too_late = DatabaseError("deadline", f"no time left to log in to {where}")
        if not (alone := _logins[address]).acquire(timeout=max(0.0, deadline - monotonic())):
            raise too_late
        with LoginTimeout(address, watchdog.clock, alone) as end:
            began = monotonic()
            # FreeTDS only supports whole seconds.
            if (seconds := int(deadline - began)) < 1:
                raise too_late
            _require_files()
            limit = began + seconds - TIMING.login_lead
            string = f"SERVER={address[0]};PORT={address[1]};{connection_string}"
            steps = (
                (began + TIMING.login_alone, end.find_sockets),
                (limit, end),
                (limit + TIMING.login_stuck_after, watchdog.give_up),
            )
            try:
                with watchdog.guard(*steps), call_record.calling():
                    raw = pyodbc.connect(string, autocommit=True, timeout=seconds)
            except pyodbc.Error as error:
                failure = login_error(str(error.args[-1]), where, timed_out=monotonic() >= limit)
                if failure.kind == "driver_missing":
                    _require_files()
                end.explain(failure, monotonic() - began, deadline - monotonic())
                raise failure from None
            if end.forget():
                # The driver takes the end that we gave its stream for that of an answer.
                raw.close()
                too_late.uncertain = True
                raise too_late
            # A search makes two system calls for each descriptor, and all targets may log in at once.
            with TURN.held():
                end.find_sockets()
            if len(end.sockets) != 1:
                raw.close()
                raise (
                    DatabaseError("lost", f"{where}: the driver's socket is not found")
                    if end.sockets
                    else _dropped(where)
                )
            connection = cls(raw, next(iter(end.sockets)), watchdog)
        connection._confirm(where, deadline)
        return connection

    def _confirm(self, where: str, deadline: float) -> None:
        # Something else may acknowledge a login before ASE refuses it. One that is cut off counts as refused.
        deadline = max(deadline, self._monotonic() + TIMING.confirm_wait)
        try:
            if Connection.query(self, "select @@spid", deadline):
                return
            failure = _dropped(where)
        except DatabaseError as error:
            if error.usable:
                # A message, or the end of a statement that was cancelled, is an answer too.
                return
            failure = _dropped(where) if error.kind == "lost" else error
            failure.uncertain |= error.kind == "deadline"
        self.close()
        raise failure

    def detect_charset(self, deadline: float) -> None:
        """Ask for the server's character set. Without an answer, text is UTF-8. Raises DatabaseError if lost."""
        try:
            rows = self.query(CHARSET, deadline)
        except DatabaseError as error:
            if not error.usable:
                raise
            return
        if rows and (codec := python_codec(str(rows[0][0]))):
            decode_text(self._raw, codec)

    def query(self, sql: str, deadline: float) -> list[Row]:
        """The rows of the first result set. Raises DatabaseError; `too_many_rows` for more than MAX_ROWS."""
        cursor = self._raw.cursor()
        self._execute(cursor, sql, deadline)
        rows, more = self._fetch(cursor, deadline, cursor.nextset)
        with self._bounded(cursor, deadline) if more else contextlib.nullcontext():
            while more:
                more = cursor.nextset()
        self.cost.rows += len(rows)
        return rows

    def query_batch(self, selects: Sequence[str], next_deadline: Callable[[], float]) -> Iterator[list[Row]]:
        """The rows of several selects that are sent at once, in one round trip.

        next_deadline: called for the deadline of each result and the begin of the next. Rows are yielded once that has
        begun, as an error may follow them. Raises DatabaseError if the batch breaks off; `out_of_step` if the
        number of results differs from the number of selects, so that earlier rows may belong to other selects.
        """
        cursor = self._raw.cursor()
        rows: list[Row] = []
        more: bool | None = True
        try:
            for number in range(len(selects) + 1):
                if number:
                    rows, more = self._fetch(cursor, next_deadline(), cursor.nextset)
                else:
                    self._execute(cursor, "\n".join(selects), next_deadline(), statements=len(selects))
                if bool(more and cursor.description) != (number < len(selects)):
                    text = f"{len(selects)} selects: result {number + 1} belongs to none of them"
                    raise DatabaseError("out_of_step", text, usable=True)
                if number:
                    self.cost.rows += len(rows)
                    yield rows
        except DatabaseError:
            # The rest of the batch has to be cancelled, which involves the server.
            with (
                contextlib.suppress(DatabaseError),
                TURN.given_up(),
                self._bounded(cursor, self._monotonic()),
            ):
                cursor.close()
            raise

    def query_messages(self, sql: str, deadline: float) -> list[str]:
        """The lines that a procedure prints, in order, without its result sets.

        A server error after the first line is added to the lines in isql's format. Raises DatabaseError if it
        came first, and for every error that makes the connection unusable.
        """
        lines: list[str] = []
        try:
            for result in self.results(sql, deadline):
                lines += result.messages
        except DatabaseError as error:
            if not lines or not error.usable or error.number is None:
                raise
            lines += [f"Msg {error.number}, Level 16, State 1:", str(error)]
        return lines

    def results(self, sql: str, deadline: float) -> Iterator[ServerResult]:
        """All results of a statement, one after the other. Raises DatabaseError, at the latest at the deadline."""
        cursor = self._raw.cursor()
        self._execute(cursor, sql, deadline)
        more = True
        while more:
            messages = _messages(cursor)
            yield ServerResult(messages, cursor.description, self._fetch(cursor, deadline)[0])
            with self._bounded(cursor, deadline):
                more = cursor.nextset()
        if messages := _messages(cursor):
            yield ServerResult(messages, None, [])

    def driver_versions(self) -> dict[str, str]:
        """Versions of pyodbc, the driver manager and the driver."""
        return {
            "pyodbc": pyodbc.version,
            "driver manager": str(self._raw.getinfo(pyodbc.SQL_DM_VER)),
            "FreeTDS": str(self._raw.getinfo(pyodbc.SQL_DRIVER_VER)),
        }

    def count_received(self) -> None:
        """Add the bytes received since the last call to the cost."""
        before, self._counted_bytes = self._counted_bytes, self._socket.received()
        self.cost.received_bytes += max(0, self._counted_bytes - before)

    def close(self) -> None:
        """Log out. Does not wait for a server that does not answer."""
        self.count_received()
        limit = self._monotonic() + TIMING.cancel_grace
        with (
            TURN.given_up(),
            self._watchdog.guard((limit, self._socket.shut_down)),
            contextlib.suppress(pyodbc.Error),
        ):
            self._raw.close()
        # Not before: another login at this address would take the socket for its own.
        open_sockets.discard(self._socket)

    def _execute(self, cursor: pyodbc.Cursor, sql: str, deadline: float, statements: int = 1) -> None:
        """Send a text that counts as so many statements, and wait for the first answer."""
        self.cost.statements += statements
        with TURN.given_up(), self._bounded(cursor, deadline):
            cursor.execute(sql)

    def _fetch(
        self, cursor: pyodbc.Cursor, deadline: float, then: Callable[[], bool] = lambda: False
    ) -> tuple[list[Row], bool]:
        """All rows of the current result, and what `then` returns, a call of the driver after the last of them."""
        rows: list[Row] = []
        while True:
            with self._bounded(cursor, deadline, MAX_FETCH_BYTES):
                if cursor.description:
                    more: list[Row] = cursor.fetchmany(min(FETCH_ROWS, MAX_ROWS + 1 - len(rows)))
                    rows += more
                    if len(rows) > MAX_ROWS:
                        cursor.close()
                        raise DatabaseError("too_many_rows", f"more than {MAX_ROWS} rows", usable=True)
                    if len(more) == FETCH_ROWS:
                        continue
                return rows, then()

    def _bounded(
        self, statement: pyodbc.Cursor, deadline: float, max_bytes: int = MAX_CALL_BYTES
    ) -> CallBounds:
        limit = max(deadline, self._monotonic() + TIMING.min_call_seconds)
        cancel = partial(_cancel, statement)
        return CallBounds(self._socket, self._watchdog, self.cost, cancel, limit, max_bytes)


def _connection_string(endpoint: Endpoint, user: str, password: str, program: str) -> str:
    """The connection string without the address. Raises UserError for what FreeTDS would send otherwise."""
    # Without TDS_Version, FreeTDS tries TDS 7 first, on a connection of its own.
    plain = f"DRIVER=FreeTDS;TDS_Version=5.0;ClientCharset={endpoint.charset};"
    if endpoint.encrypt_password:
        plain += "Encryption=require;"
    _check("user", user, MAX_NAME)
    _check("password", password, MAX_ENCRYPTED if endpoint.encrypt_password else MAX_NAME)
    return f"{plain}UID={{{user}}};PWD={{{password}}};APP={{{program}}};"


def _check(what: str, value: str, max_bytes: int) -> None:
    """Raise UserError unless a value, in braces, reaches the server as it is."""
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        raise UserError(f"the {what} of the login: expected text in UTF-8") from None
    # FreeTDS has no escape for the first `};`, where it stops reading.
    if "};" in value or "\0" in value:
        raise UserError(f"the {what} of the login contains '}};' or NUL, which FreeTDS cannot send")
    if length > max_bytes:
        raise UserError(
            f"the {what} of the login has {length} bytes in UTF-8, of which FreeTDS would send {max_bytes}"
        )


def _dropped(where: str) -> DatabaseError:
    error = DatabaseError(
        "lost",
        f"{where} closed the connection at login: a login trigger may have ended it (it has to let the program"
        f" {PROGRAM} in), or the port is not that of ASE",
    )
    error.uncertain = error.dropped = True
    return error


def _require_files() -> None:
    """Raise DatabaseError if hardly any file can be opened: the driver would say that it is not installed."""
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                stack.callback(os.close, os.dup(2))
    except OSError:
        raise DatabaseError("internal", NO_FILE) from None


def _cancel(statement: pyodbc.Cursor) -> None:
    with contextlib.suppress(pyodbc.Error):
        statement.cancel()


def _messages(cursor: pyodbc.Cursor) -> list[str]:
    """The messages that came with the current result set: raw, as the lines of a report are (sysmon.lines)."""
    return [text.removeprefix(_PREFIX) for _, text in cursor.messages or ()]
