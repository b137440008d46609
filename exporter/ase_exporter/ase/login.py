"""One login: read the password, ask whether it may be tried, connect, report how that ended.

A login that is not answered in time keeps its connection to see how it ends. Only then is it known whether the server
hangs, or refuses the password slowly; another attempt might lock the account.
"""

import os
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from ase_exporter.ase.database_error import DatabaseError, Kind
from ase_exporter.ase.driver_socket import DriverSocket, new_sockets_to, open_sockets
from ase_exporter.ase.login_ledger import (
    DIRECTORIES,
    Account,
    Attempt,
    LoginLedger,
    NotAllowedError,
    Outcome,
    process_ledger,
)
from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth, Target
from ase_exporter.errors import UserError
from ase_exporter.untrusted.redaction import remember

PROGRAM = "ase-exporter"

# A server that is gone without a word is noticed after about half a minute.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
# Seconds. Something that stands in for a server may hold the connection for ever.
MAX_WAIT = 3600.0
# Bytes of an answer; what is beyond them is no answer to a login.
_MAX_ANSWER = 1 << 16
# Seconds that a connection without a login is given to be closed by the other side: longer than one with a login was.
_MIN_SILENCE, _SILENCE_MARGIN = 0.2, 0.5
_ESTABLISHED = 1
_PACKET = struct.Struct("!BBHHBB")
_LOGINACK = 0xAD
# Tokens that may come with it, with a length of two bytes: capabilities, changes of the environment, messages.
_TOKENS = frozenset((_LOGINACK, 0xAA, 0xAB, 0xE2, 0xE3, 0xE5, 0xEC, 0xD7))
_STATUS: dict[int, Outcome] = {5: "accepted", 6: "refused", 7: "not_refused"}

Opened = TypeVar("Opened")
# Logs in to a server, with the parameters and errors of `Connection.open`.
Opener = Callable[..., Opened]
# Called with the addresses of a host before anything is sent; returns to how many of them the password may be sent.
# What it raises ends the login.
Permission = Callable[[Sequence[str]], int]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens and how to talk to it."""

    host: str
    port: int
    charset: str = "UTF-8"
    encrypt_password: bool = False

    @classmethod
    def of(cls, target: Target) -> Self:
        """The endpoint of a configured target."""
        return cls(target.host, target.port, target.charset, target.encrypt_password)


class Login(Generic[Opened]):
    """Logins of one user to one server.

    attempts: how often the server was asked. ledger: decides whether it may be, by default that of the process, which
    knows what other targets and processes have tried.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        auth: Auth,
        open_connection: Opener[Opened],
        *,
        program: str = PROGRAM,
        ledger: LoginLedger | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.attempts = 0
        self._endpoint = endpoint
        self._auth = auth
        self._open_connection = open_connection
        self._program = program
        # Another clock than the system's has refusals of its own.
        self._ledger = ledger or (process_ledger() if clock is SYSTEM_CLOCK else LoginLedger(clock=clock))
        # The password that was accepted last, and the one that LDAP or PAM accepted.
        self._accepted: str | None = None
        self._accepted_by_directory: str | None = None
        # A login whose answer is awaited, with its password and attempt.
        self._unanswered: tuple[UnansweredLogin, str, Attempt] | None = None

    def open(self, deadline: float) -> Opened:
        """Log in with the password as it is now.

        Raises UserError if it cannot be read, DatabaseError as `Connection.open` does; `login_suspended`,
        without asking the server, while the password must not be tried.
        """
        user, password = self._auth.user, self._auth.read_password()
        remember(password)
        self._end_unanswered()
        attempt: Attempt | None = None
        reached: list[str] = []

        def ask(addresses: Sequence[str]) -> int:
            nonlocal attempt
            attempt = self._begin(addresses, password, deadline)
            self.attempts += 1
            return attempt.allowed

        outcome: Outcome = "unknown"
        sent = 1
        try:
            connection = self._open_connection(
                self._endpoint,
                user,
                password,
                deadline=deadline,
                program=self._program,
                allow=ask,
                note=reached.append,
            )
            outcome = "accepted"
        except DatabaseError as error:
            outcome, sent = _outcome(error), error.attempts
            if error.unanswered and attempt:
                if attempt.accepted:
                    error.unanswered.max_wait = TIMING.accepted_login_wait
                self._unanswered = error.unanswered, password, attempt
            raise
        except UserError:
            # Nothing was sent.
            outcome = "not_refused"
            raise
        finally:
            if attempt:
                if reached:
                    attempt.concerned = self._accounts(reached[-1:] if outcome == "accepted" else reached)
                self._report(attempt, password, outcome, sent)
        self._accepted = password
        return connection

    def close(self) -> None:
        """Give up waiting for an answer."""
        if self._unanswered:
            unanswered, password, attempt = self._unanswered
            unanswered.close()
            self._unanswered = None
            self._report(attempt, password, "unknown")

    def note_mechanism(self, mechanism: str) -> None:
        """Note who checked the password of the last login. mechanism: @@authmech, '' if it is not known."""
        self._accepted_by_directory = self._accepted if mechanism in DIRECTORIES else None

    def _begin(self, addresses: Sequence[str], password: str, deadline: float) -> Attempt:
        """An attempt at these addresses of the host. Raises DatabaseError if it is not allowed."""
        try:
            return self._ledger.begin(self._accounts(addresses), password, deadline)
        except NotAllowedError as error:
            kind: Kind = "deadline" if error.is_busy else "login_suspended"
            raise DatabaseError(kind, f"login {self._auth.user} {error}") from None

    def _accounts(self, addresses: Sequence[str]) -> frozenset[Account]:
        user, port = self._auth.user, self._endpoint.port
        return frozenset(Account.of(name, port, user) for name in (self._endpoint.host, *addresses))

    def _report(self, attempt: Attempt, password: str, outcome: Outcome, sent: int = 1) -> None:
        directory = password == self._accepted_by_directory
        self._ledger.end(attempt, outcome, directory=directory, sent=sent)

    def _end_unanswered(self) -> None:
        """Report how an unanswered login has ended. Raises DatabaseError `deadline` if it has not."""
        if self._unanswered is None:
            return
        unanswered, password, attempt = self._unanswered
        outcome = unanswered.outcome()
        if outcome == "unanswered":
            where = f"{self._endpoint.host}:{self._endpoint.port}"
            raise DatabaseError(
                "deadline", f"{where} has not answered a login for {unanswered.seconds:.0f} s"
            )
        self._unanswered = None
        self._report(attempt, password, outcome)


def _outcome(error: DatabaseError) -> Outcome:
    if error.unanswered:
        return "unanswered"
    if error.dropped:
        return "dropped"
    if error.uncertain:
        return "unknown"
    return "refused" if error.may_be_refused else "not_refused"


class UnansweredLogin:
    """The connection of one, taken over from the driver, which gets the end of its stream.

    max_wait: seconds of `clock` after which it ends as `unknown`.
    """

    def __init__(self, own: socket.socket, clock: Clock = SYSTEM_CLOCK) -> None:
        self._own = own
        self._clock = clock
        self._mark = DriverSocket(own.fileno(), os.fstat(own.fileno()).st_ino)
        open_sockets.add(self._mark)
        self.max_wait = MAX_WAIT
        self._received = b""
        self._since = clock.monotonic()
        with suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE:
                own.setsockopt(socket.IPPROTO_TCP, option, value)
        # Ends the driver's wait, and tells the server nothing.
        with suppress(OSError):
            own.shutdown(socket.SHUT_RD)

    @property
    def seconds(self) -> float:
        """How long it has been waited for."""
        return self._clock.monotonic() - self._since

    def outcome(self) -> Outcome:
        """How it ended; closes the connection unless it is still `unanswered`."""
        outcome = self._outcome()
        if outcome != "unanswered":
            self.close()
        return outcome

    def close(self) -> None:
        """Give up waiting."""
        self._own.close()
        open_sockets.discard(self._mark)

    def _outcome(self) -> Outcome:
        try:
            # First: an answer may arrive between the two.
            state = self._own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            while len(self._received) < _MAX_ANSWER and (more := self._own.recv(4096, socket.MSG_DONTWAIT)):
                self._received += more
        except BlockingIOError:
            pass
        except OSError:
            return "unknown"
        if known := _login_status(self._received):
            return "dropped" if known == "accepted" and state != _ESTABLISHED else known
        ended = state != _ESTABLISHED or len(self._received) >= _MAX_ANSWER or self.seconds > self.max_wait
        return "unknown" if ended else "unanswered"


class LoginTimeout:
    """Called by the watchdog to end a login that takes too long. In a block that ends with the login.

    alone: held until its socket has been found: nobody else logs in at the address. sockets: those that were found.
    """

    def __init__(self, address: tuple[str, int], clock: Clock, alone: threading.Lock) -> None:
        self.sockets: set[DriverSocket] = set()
        self._alone = alone
        self._was_sent = False
        self._unanswered: UnansweredLogin | None = None
        self._address = address
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self.sockets:
            self._alone.release()
        elif kind and not self._unanswered:
            open_sockets.difference_update(self.sockets)

    def find_sockets(self) -> None:
        """Find the driver's socket, after which others may log in at the address: they do not take it for theirs."""
        if not self.sockets and (found := new_sockets_to(self._address)):
            open_sockets.update(found)
            self.sockets = found
            self._alone.release()

    def __call__(self) -> None:
        self.find_sockets()
        for found in self.sockets:
            self._was_sent = True
            if own := found.duplicate():
                self._unanswered = UnansweredLogin(own, self._clock)
            else:
                found.shut_down()

    def explain(self, error: DatabaseError, seconds: float, left: float) -> None:
        """Say in its error whether the login may have been refused. seconds: that it took; left: until the deadline."""
        if error.kind == "deadline":
            error.uncertain, error.unanswered = self._was_sent, self._unanswered
        elif error.uncertain and error.number is None:
            wait = max(min(seconds + _SILENCE_MARGIN, left), _MIN_SILENCE)
            # Another login must not take this connection for its own.
            with self._alone if self.sockets else nullcontext():
                error.uncertain = not _closes_unasked(self._address, wait)

    def forget(self) -> bool:
        """The driver says that the login has succeeded; whether it was ended before."""
        if self._unanswered:
            self._unanswered.close()
        return self._was_sent


def _closes_unasked(address: tuple[str, int], seconds: float) -> bool:
    """Whether who listens there ends a connection, or talks, before anything is sent: then it is no ASE, but a tunnel
    without one behind it."""
    try:
        with socket.create_connection(address, seconds) as silent:
            silent.recv(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def _login_status(received: bytes) -> Outcome | None:
    """What an answer to a login says; None if it does not, or not yet. A refusal prevails over an acknowledgement."""
    tokens = b""
    while len(received) >= _PACKET.size:
        length = max(_PACKET.unpack_from(received)[2], _PACKET.size)
        tokens += received[_PACKET.size : length]
        received = received[length:]
    found: Outcome | None = None
    while len(tokens) > 3:
        if tokens[0] == _LOGINACK and found != "refused":
            found = _STATUS.get(tokens[3], "unknown")
        elif tokens[0] not in _TOKENS:
            break
        tokens = tokens[3 + int.from_bytes(tokens[1:3], "little") :]
    return found
