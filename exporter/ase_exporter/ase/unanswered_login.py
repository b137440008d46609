"""A login that was sent but not answered in time: its connection stays open to see how it ends.

Only then is it known whether the server hangs, or refuses the password slowly; another attempt might lock the account.
"""

import os
import socket
import struct
from contextlib import suppress
from typing import Self

from ase_exporter.ase.database_error import DatabaseError
from ase_exporter.ase.driver_socket import DriverSocket, login_sockets
from ase_exporter.ase.login_backoff import Outcome
from ase_exporter.clock import SYSTEM_CLOCK, Clock

# A server that is gone without a word is noticed after about half a minute.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
# Seconds. Something that stands in for a server may hold the connection for ever.
MAX_WAIT = 3600.0
# Bytes of an answer; what is beyond them is no answer to a login.
_MAX_ANSWER = 1 << 16
# Seconds that a connection without a login is given to be closed by the other side: longer than one with a login was.
_MIN_KNOCK, _KNOCK_MARGIN = 0.2, 0.5
_ESTABLISHED = 1
_PACKET = struct.Struct("!BBHHBB")
_LOGINACK = 0xAD
# Tokens that may come before it, with a length of two bytes: capabilities, changes of the environment, messages.
_TOKENS = frozenset((0xAA, 0xAB, 0xE2, 0xE3, 0xE5, 0xEC, 0xD7))
_STATUS: dict[int, Outcome] = {5: "accepted", 6: "refused", 7: "not_refused"}


class UnansweredLogin:
    """The connection of one, taken over from the driver, which gets the end of its stream.

    max_wait: seconds of `clock` after which it ends as `unknown`.
    """

    def __init__(self, own: socket.socket, clock: Clock = SYSTEM_CLOCK) -> None:
        self._own = own
        self._clock = clock
        self._mark = DriverSocket(own.fileno(), os.fstat(own.fileno()).st_ino)
        self._mark.keep()
        self.max_wait = MAX_WAIT
        self._received = b""
        self._since = clock.monotonic()

    @classmethod
    def take_over(cls, driver_socket: DriverSocket, clock: Clock) -> Self | None:
        """Take over the connection, which ends the driver's wait. None if that is not possible."""
        own = driver_socket.duplicate()
        if own is None:
            return None
        with suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE:
                own.setsockopt(socket.IPPROTO_TCP, option, value)
        unanswered = cls(own, clock)
        # Tells the server nothing.
        with suppress(OSError):
            own.shutdown(socket.SHUT_RD)
        return unanswered

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
        self._mark.release()
        self._own.close()

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
            return known
        ended = state != _ESTABLISHED or len(self._received) >= _MAX_ANSWER or self.seconds > self.max_wait
        return "unknown" if ended else "unanswered"


class LoginEnd:
    """Called by the watchdog to end a login that takes too long. likely: the descriptor that was free before."""

    def __init__(self, likely: int, address: tuple[str, int], clock: Clock) -> None:
        self._was_sent = False
        self._unanswered: UnansweredLogin | None = None
        self._likely = likely
        self._address = address
        self._clock = clock

    def __call__(self) -> None:
        for found in login_sockets(self._likely, self._address):
            self._was_sent = True
            self._unanswered = UnansweredLogin.take_over(found, self._clock)
            if self._unanswered is None:
                found.shut_down()

    def explain(self, error: DatabaseError, seconds: float, left: float) -> None:
        """Say in its error whether the login may have been refused. seconds: that it took; left: until the deadline."""
        if error.kind == "deadline":
            error.uncertain, error.unanswered = self._was_sent, self._unanswered
        elif error.uncertain and error.number is None:
            wait = max(min(seconds + _KNOCK_MARGIN, left), _MIN_KNOCK)
            error.uncertain = not _closes_unasked(self._address, wait)

    def forget(self) -> None:
        """The login has succeeded all the same."""
        if self._unanswered:
            self._unanswered.close()


def _closes_unasked(address: tuple[str, int], seconds: float) -> bool:
    """Whether who listens there ends a connection, or talks, before anything is sent: then it is no ASE, but a tunnel
    without one behind it."""
    try:
        with socket.create_connection(address, seconds) as knock:
            knock.recv(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def _login_status(received: bytes) -> Outcome | None:
    """What an answer to a login says; None if it does not, or not yet."""
    tokens = b""
    while len(received) >= _PACKET.size:
        length = max(_PACKET.unpack_from(received)[2], _PACKET.size)
        tokens += received[_PACKET.size : length]
        received = received[length:]
    while len(tokens) > 3:
        if tokens[0] == _LOGINACK:
            return _STATUS.get(tokens[3], "unknown")
        if tokens[0] not in _TOKENS:
            return None
        tokens = tokens[3 + int.from_bytes(tokens[1:3], "little") :]
    return None
