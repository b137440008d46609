"""Finds, inspects and shuts down the sockets that FreeTDS opens but does not expose."""

import contextlib
import fcntl
import os
import resource
import socket
import stat
import struct
import termios
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# struct tcp_info of linux/tcp.h: tcpi_bytes_received, an u64.
_BYTES_RECEIVED = struct.Struct("=128xQ")

Address = tuple[str, int]

# The sockets of open connections, and of logins that last or whose answer is awaited.
open_sockets: set["DriverSocket"] = set()


@dataclass(frozen=True, slots=True)
class DriverSocket:
    """A socket of this process, identified by its inode: a later socket may get the same descriptor."""

    descriptor: int = field(compare=False)
    inode: int

    def received(self) -> int:
        """Bytes received so far; 0 if the socket is gone."""
        with self._borrowed() as own:
            info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.size) if own else b""
        return int(_BYTES_RECEIVED.unpack(info)[0]) if len(info) == _BYTES_RECEIVED.size else 0

    def waiting(self) -> int:
        """Bytes received but not yet read by the driver."""
        count = array("i", (0,))
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.descriptor, termios.FIONREAD, count)
        return count[0]

    def shut_down(self) -> None:
        """Make every call that waits on the socket return."""
        with self._borrowed() as own, contextlib.suppress(OSError):
            if own:
                own.shutdown(socket.SHUT_RDWR)

    def duplicate(self) -> socket.socket | None:
        """A socket object of the caller's own on the same connection; None if that is not possible."""
        try:
            descriptor = os.dup(self.descriptor)
        except OSError:
            return None
        if os.fstat(descriptor).st_ino == self.inode:
            return socket.socket(fileno=descriptor)
        os.close(descriptor)
        return None

    @contextmanager
    def _borrowed(self) -> Iterator[socket.socket | None]:
        """A socket object on a duplicate of the descriptor; None if it is no longer this socket."""
        if own := self.duplicate():
            with own:
                yield own
        elif self._is_open():
            # No descriptor is left for a duplicate: it must be possible to shut it down all the same.
            with _undoubled(self.descriptor) as own:
                yield own
        else:
            yield None

    def _is_open(self) -> bool:
        with contextlib.suppress(OSError):
            return os.fstat(self.descriptor).st_ino == self.inode
        return False


@contextmanager
def _undoubled(descriptor: int) -> Iterator[socket.socket]:
    """A socket object on a descriptor that stays open. Raises OSError."""
    own = socket.socket(fileno=descriptor)
    try:
        yield own
    finally:
        own.detach()


def new_sockets_to(address: Address) -> set[DriverSocket]:
    """The sockets of this process that are connected to an address and belong to no open connection."""
    sockets: set[DriverSocket] = set()
    descriptors: Iterable[int]
    try:
        descriptors = map(int, os.listdir("/proc/self/fd"))  # noqa: PTH208  # names only
    except OSError:
        # None is left for the list.
        descriptors = range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for descriptor in descriptors:
        try:
            status = os.fstat(descriptor)
        except OSError:
            continue
        found = DriverSocket(descriptor, status.st_ino)
        if stat.S_ISSOCK(status.st_mode) and found not in open_sockets and _peer(descriptor) == address:
            sockets.add(found)
    return sockets


def _peer(descriptor: int) -> Address | None:
    """The address that a socket is connected to. The descriptor is not duplicated: many threads ask at once."""
    try:
        with _undoubled(descriptor) as own:
            peer = own.getpeername()
    except OSError:
        return None
    return (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else None
