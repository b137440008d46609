"""Looks up host names in a bounded time, apart from the threads of targets.

A lookup cannot be cancelled, and takes half a minute while name servers are silent. So it runs in a daemon thread, and
a login that has waited long enough takes the last good addresses.
"""

import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence

from ase_exporter.ase.database_error import DatabaseError

log = logging.getLogger(__name__)

# Seconds from the start of a lookup. Logins that come later do not wait for it.
MAX_WAIT = 2.0
# At a time and process. While name servers are silent, each takes a thread.
MAX_LOOKUPS = 8

# The name servers answered that there is no such host, or no address of it.
_UNKNOWN = frozenset((socket.EAI_NONAME, socket.EAI_NODATA))


class _Lookup:
    """A lookup in progress. found: the addresses; unknown: there is no such host."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.done = threading.Event()
        self.found: Sequence[str] = ()
        self.unknown = False


class Resolver:
    """The addresses of hosts. Logins to the same host share a lookup."""

    def __init__(
        self, look_up: Callable[[str], Sequence[str]] | None = None, max_wait: float = MAX_WAIT
    ) -> None:
        """look_up: a blocking function that raises OSError, replaced by tests."""
        self._look_up = look_up or _system_addresses
        self._max_wait = max_wait
        self._lock = threading.Lock()
        self._lookups: dict[str, _Lookup] = {}
        self._last_good: dict[str, Sequence[str]] = {}

    def addresses(self, host: str, seconds: float) -> Sequence[str]:
        """The addresses of a host, at least one, best first. seconds: the time for a lookup, at most `max_wait`.

        Raises DatabaseError `unknown_host` if the name servers do not know it, or do not answer and never did.
        """
        if _is_address(host):
            return [host]
        lookup = self._lookup(host)
        if lookup:
            lookup.done.wait(max(0.0, min(seconds, lookup.until - time.monotonic())))
            if lookup.found:
                return lookup.found
            if lookup.unknown:
                raise DatabaseError("unknown_host", f"{host}: no such host")
        known = self._last_good.get(host)
        if not known:
            raise DatabaseError("unknown_host", f"{host}: the name servers do not answer")
        log.debug("%s: the name servers do not answer; using its last address", host)
        return known

    def _lookup(self, host: str) -> _Lookup | None:
        """The lookup in progress for a host; a new one if there is none, None if there are too many."""
        with self._lock:
            lookup = self._lookups.get(host)
            if lookup or len(self._lookups) >= MAX_LOOKUPS:
                return lookup
            lookup = self._lookups[host] = _Lookup(time.monotonic() + self._max_wait)
            try:
                threading.Thread(target=self._run, args=(host, lookup), name="resolver", daemon=True).start()
            except RuntimeError:
                # The limit of tasks is reached.
                del self._lookups[host]
                return None
            return lookup

    def _run(self, host: str, lookup: _Lookup) -> None:
        try:
            lookup.found = self._last_good[host] = self._look_up(host)
        except OSError as error:
            lookup.unknown = error.errno in _UNKNOWN
        except UnicodeError:
            lookup.unknown = True
        finally:
            with self._lock:
                del self._lookups[host]
            lookup.done.set()


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
