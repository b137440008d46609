"""A server that counts logins and answers each with whatever a test wants: refusals of every form, or none."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.programs import SOON

_LOGIN_RECORD = 512

Talk = Callable[[bytes], bytes]


def message(number: int, severity: int, text: str) -> bytes:
    """An EED token."""
    words = text.encode()
    body = struct.pack("<iBB", number, 1, severity) + b"\x05ZZZZZ" + b"\0" + struct.pack("<H", 0)
    body += struct.pack("<H", len(words)) + words + b"\x03ASE\0" + struct.pack("<H", 0)
    return b"\xe5" + struct.pack("<H", len(body)) + body


def acknowledgement(status: int) -> bytes:
    """A LOGINACK token: 5 accepted, 6 refused."""
    body = bytes((status, 5, 0, 0, 0, 3)) + b"ASE" + b"\x0f\0\0\0"
    return b"\xad" + struct.pack("<H", len(body)) + body


def answer(*tokens: bytes, failed: bool = True) -> bytes:
    """A reply of one packet."""
    body = b"".join((*tokens, b"\xfd" + struct.pack("<HHI", 2 if failed else 0, 0, 0)))
    return struct.pack("!BBHHBB", 4, 1, len(body) + 8, 0, 0, 0) + body


FAILED = message(4002, 14, "Login failed.\n")
ACCEPTED = answer(acknowledgement(5), failed=False)
REFUSED = answer(acknowledgement(6), FAILED)
# To statements: nothing but their end; the number of the session, as a row of a smallint.
DONE = answer(failed=False)
_SPID = answer(b"\xee\x0a\0\x01\0\0\0\0\0\0\0\x34\0", b"\xd1\x07\0", failed=False)


def session(statement: bytes) -> bytes:
    """What a server answers that has let us in, as far as our first questions."""
    return _SPID if b"@@spid" in statement else DONE


class Last(bytes):
    """An answer after which the server ends the connection."""


class Endless(bytes):
    """An answer that the server repeats until the connection ends."""


def closing(_: bytes) -> bytes:
    """Ends the connection at the first statement."""
    return b""


class LoginServer:
    """Listens on 127.0.0.1. reply: to a login record. talk: answers statements that follow; b"" ends the connection.

    logins: received so far. may_answer: replies wait for it; on_wait: called when one does. closing: connections are
    closed at once, as by a tunnel without a server behind it.
    """

    def __init__(self, reply: bytes, talk: Talk | None) -> None:
        self.reply = reply
        self.talk = talk
        self.logins = 0
        self.closing = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.on_wait: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        self._ended = 0

    def stop(self) -> None:
        """Close the listening socket; connections end with their clients."""
        self.may_answer.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def until(self, *, logins: int = 0, ended: int = 0) -> None:
        """Wait for that many logins, and for the ends of that many connections."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.logins >= logins and self._ended >= ended, SOON)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            received = b""
            while not self.closing and len(received) < _LOGIN_RECORD:
                if not (more := connection.recv(4096)):
                    return
                received += more
            if not self.closing:
                self._note(login=True)
                if not self.may_answer.is_set():
                    self.on_wait()
                self.may_answer.wait()
                connection.sendall(self.reply)
                while (talk := self.talk) and (heard := connection.recv(4096)) and (said := talk(heard)):
                    connection.sendall(said)
                    while isinstance(said, Endless):
                        connection.sendall(said)
                    if isinstance(said, Last):
                        break
        self._note(login=False)

    def _note(self, *, login: bool) -> None:
        with self._changed:
            if login:
                self.logins += 1
            else:
                self._ended += 1
            self._changed.notify_all()


@contextmanager
def login_server(reply: bytes = REFUSED, talk: Talk | None = None) -> Iterator[LoginServer]:
    """Run one until the block ends."""
    server = LoginServer(reply, talk)
    try:
        yield server
    finally:
        server.stop()
