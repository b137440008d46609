"""The sockets that FreeTDS opens and tells nobody about: to find them, to look at them, to shut them down."""

import contextlib
import fcntl
import os
import socket
import struct
import termios
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# struct tcp_info of linux/tcp.h: how many bytes have come in, an u64.
_BYTES_RECEIVED = struct.Struct("=128xQ")

# Those of open connections.
_known: set["DriverSocket"] = set()


@dataclass(frozen=True, slots=True)
class DriverSocket:
    """A socket of this process; the inode tells it from a later one with the same descriptor.

    A duplicate that another thread holds for a moment is the same socket.
    """

    descriptor: int = field(compare=False)
    inode: int

    def keep(self) -> None:
        """It belongs to an open connection from now on."""
        _known.add(self)

    def release(self) -> None:
        """Its connection is being closed."""
        _known.discard(self)

    def received(self) -> int:
        """Bytes that have come in so far; 0 if it is gone."""
        with self._borrowed() as own:
            told = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.size) if own else b""
        return int(_BYTES_RECEIVED.unpack(told)[0]) if len(told) == _BYTES_RECEIVED.size else 0

    def waiting(self) -> int:
        """Bytes that have come in and were not taken yet."""
        count = array("i", (0,))
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.descriptor, termios.FIONREAD, count)
        return count[0]

    def shut_down(self) -> None:
        """End whatever the driver waits for on it."""
        with self._borrowed() as own, contextlib.suppress(OSError):
            if own:
                own.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _borrowed(self) -> Iterator[socket.socket | None]:
        """A socket object of our own on the descriptor; None if that is no socket, or another one, by now."""
        try:
            duplicate = os.dup(self.descriptor)
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
            yield own if os.fstat(duplicate).st_ino == self.inode else None


def free_descriptor() -> int:
    """What the next socket gets, unless another thread is quicker: looking at all of hundreds would take long."""
    try:
        free = os.dup(0)
    except OSError:
        return -1
    os.close(free)
    return free


def new_socket(descriptor: int, address: tuple[str, int]) -> DriverSocket | None:
    """The socket of that descriptor, if it is connected to the address and of no open connection."""
    try:
        kind, _, inode = os.readlink(f"/proc/self/fd/{descriptor}").partition(":")  # noqa: PTH115  # often
    except OSError:
        return None
    if kind != "socket" or (found := DriverSocket(descriptor, int(inode[1:-1]))) in _known:
        return None
    return found if _peer(descriptor) == address else None


def new_sockets_to(address: tuple[str, int]) -> set[DriverSocket]:
    """The sockets of this process that are connected to an address, but for those of open connections."""
    descriptors = map(int, os.listdir("/proc/self/fd"))  # noqa: PTH208  # names only
    return {found for descriptor in descriptors if (found := new_socket(descriptor, address))}


def shut_down_login(likely: int, address: tuple[str, int]) -> None:
    """End a login in flight to the address. likely: the descriptor that was free when it began."""
    # To look at all of a thousand may take longer than there is time.
    its_socket = new_socket(likely, address)
    for found in {its_socket} if its_socket else new_sockets_to(address):
        found.shut_down()


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
