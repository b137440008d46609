"""Looks up host names in a bounded time, apart from the threads of targets and from the event loop.

A lookup cannot be cancelled, and takes half a minute while name servers are silent. So it runs in a daemon thread, and
who has waited long enough takes the last good addresses.
"""

import ipaddress
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ase_exporter.ase.database_error import DatabaseError

# Seconds from the start of a lookup. Those who ask later do not wait for it.
MAX_WAIT = 2.0
# At a time and process, each in a thread; others wait for their turn.
MAX_LOOKUPS = 8
# Hosts whose last good addresses are kept, also over reloads.
MAX_KNOWN = 4096

# The name servers answered that there is no such host, or no address of it.
_UNKNOWN = frozenset((socket.EAI_NONAME, socket.EAI_NODATA))


@dataclass(slots=True)
class _Lookup:
    """A lookup in progress, or one that waits for its turn. unknown: there is no such host.

    until: so long it is waited for, once it has begun.
    """

    asked_at: float
    until: float = 0.0
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    unknown: bool = False


class Resolver:
    """The addresses of hosts. All who ask for the same host at a time share a lookup."""

    def __init__(
        self, look_up: Callable[[str], Sequence[str]] | None = None, max_wait: float = MAX_WAIT
    ) -> None:
        """look_up: a blocking function that raises OSError, replaced by tests."""
        self._look_up = look_up or _system_addresses
        self._max_wait = max_wait
        self._lock = threading.Lock()
        self._lookups: dict[str, _Lookup] = {}
        self._waiting: deque[str] = deque()
        self._threads = 0
        self._last_good: dict[str, Sequence[str]] = {}

    def addresses(self, host: str, seconds: float) -> Sequence[str]:
        """The addresses of a host, at least one, best first.

        seconds: for the lookup, at most `max_wait` once it has begun, or once it was asked for if addresses are known.
        Raises DatabaseError `unknown_host` if the name servers do not know it, or do not answer and never did.
        """
        if _is_address(host):
            return [host]
        end = time.monotonic() + seconds
        if lookup := self._lookup(host):
            turn = min(end, lookup.asked_at + self._max_wait) if host in self._last_good else end
            lookup.begun.wait(max(0.0, turn - time.monotonic()))
            lookup.ended.wait(max(0.0, min(end, lookup.until) - time.monotonic()))
            if lookup.unknown:
                raise DatabaseError("unknown_host", f"{host}: no such host")
        known = self._last_good.get(host)
        if not known:
            raise DatabaseError("unknown_host", f"{host}: the name servers do not answer")
        return known

    def _lookup(self, host: str) -> _Lookup | None:
        """The lookup of a host, a new one if there is none; None if no thread can be started for it."""
        with self._lock:
            lookup = self._lookups.get(host)
            if lookup:
                return lookup
            if self._threads < MAX_LOOKUPS:
                try:
                    threading.Thread(target=self._run, name="resolver", daemon=True).start()
                except RuntimeError:
                    # The limit of tasks is reached.
                    if not self._threads:
                        return None
                else:
                    self._threads += 1
            lookup = self._lookups[host] = _Lookup(time.monotonic())
            self._waiting.append(host)
            return lookup

    def _run(self) -> None:
        """Look up one host after the other, until none waits."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                host = self._waiting.popleft()
                lookup = self._lookups[host]
            lookup.until = time.monotonic() + self._max_wait
            lookup.begun.set()
            found: Sequence[str] = ()
            try:
                found = self._look_up(host)
            except (OSError, UnicodeError) as error:
                lookup.unknown = isinstance(error, UnicodeError) or error.errno in _UNKNOWN
            finally:
                self._end(host, lookup, found)

    def _end(self, host: str, lookup: _Lookup, found: Sequence[str]) -> None:
        with self._lock:
            del self._lookups[host]
            if found:
                self._last_good.pop(host, None)
                self._last_good[host] = found
                if len(self._last_good) > MAX_KNOWN:
                    del self._last_good[next(iter(self._last_good))]
        lookup.ended.set()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _system_addresses(host: str) -> Sequence[str]:
    return [str(place[4][0]) for place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


# Shared by all connections of the process.
resolver = Resolver()
