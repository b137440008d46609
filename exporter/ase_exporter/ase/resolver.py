"""Looks up host names in a bounded time, apart from the threads of targets and from the event loop.

A lookup cannot be cancelled, and takes half a minute while name servers are silent. So it runs in a daemon thread, and
who has waited long enough takes the last good addresses.
"""

import contextlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ase_exporter.ase.database_error import NO_THREAD, DatabaseError

# Seconds that a lookup is waited for if addresses are known.
MAX_WAIT = 2.0
# At a time and process; others wait for their turn.
MAX_LOOKUPS = 8
# Hosts whose last good addresses are kept, also over reloads.
MAX_KNOWN = 4096

# The name servers answered that there is no such host, or no address of it.
_UNKNOWN = frozenset((socket.EAI_NONAME, socket.EAI_NODATA))


@dataclass(slots=True)
class _Lookup:
    """A lookup in progress, or one that waits for its turn. unknown: there is no such host."""

    asked_at: float
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
        self._turns = threading.Semaphore(MAX_LOOKUPS)
        self._lookups: dict[str, _Lookup] = {}
        self._last_good: dict[str, Sequence[str]] = {}

    def addresses(self, host: str, seconds: float) -> Sequence[str]:
        """The addresses of a host, at least one, best first.

        seconds: for the lookup, at most `max_wait` once it was asked for if addresses are known.
        Raises DatabaseError `unknown_host` if the name servers do not know it, or do not answer and never did.
        """
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(host)
            return [host]
        end = time.monotonic() + seconds
        if lookup := self._lookup(host):
            limit = min(end, lookup.asked_at + self._max_wait) if host in self._last_good else end
            lookup.ended.wait(max(0.0, limit - time.monotonic()))
            if lookup.unknown:
                raise DatabaseError(
                    "unknown_host", f"{host}: no such host: expected one that this machine can look up"
                )
        known = self._last_good.get(host)
        if not known and not lookup:
            raise DatabaseError("internal", NO_THREAD)
        if not known:
            raise DatabaseError("unknown_host", f"{host}: the name servers do not answer")
        return known

    def _lookup(self, host: str) -> _Lookup | None:
        """The lookup of a host, a new one if there is none; None if no thread can be started for it."""
        with self._lock:
            lookup = self._lookups.get(host)
            if lookup is None:
                lookup = _Lookup(time.monotonic())
                thread = threading.Thread(target=self._run, args=(host, lookup), name="resolver", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    # The limit of tasks is reached.
                    return None
                self._lookups[host] = lookup
            return lookup

    def _run(self, host: str, lookup: _Lookup) -> None:
        found: Sequence[str] = ()
        with self._turns:
            try:
                found = self._look_up(host)
            except (OSError, UnicodeError) as error:
                lookup.unknown = isinstance(error, UnicodeError) or error.errno in _UNKNOWN
        with self._lock:
            self._lookups.pop(host, None)
            if found:
                self._last_good.pop(host, None)
                self._last_good[host] = found
                if len(self._last_good) > MAX_KNOWN:
                    del self._last_good[next(iter(self._last_good))]
        lookup.ended.set()


def _system_addresses(host: str) -> Sequence[str]:
    return [str(place[4][0]) for place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


# Shared by all connections of the process.
resolver = Resolver()
