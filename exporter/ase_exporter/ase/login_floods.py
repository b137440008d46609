"""Ends logins that are answered with messages without end: the driver keeps them all, until no memory is left."""

import threading
import time
from collections.abc import Set

from ase_exporter.ase.driver_socket import Address, DriverSocket, new_sockets
from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG, Watchdog

# Seconds between two checks. With a thousand logins in progress one takes a while: at most 5 % of the time.
_CHECK_INTERVAL = 0.1
_CHECK_SHARE = 0.05
# Bytes that the answer to a login may have.
MAX_LOGIN_BYTES = 1 << 20


class LoginFloods:
    """Watches the sockets of logins in progress, at most one for each address: one search finds those of all."""

    def __init__(self, watchdog: Watchdog = SYSTEM_WATCHDOG) -> None:
        self._watchdog = watchdog
        self._lock = threading.Lock()
        # Logins in progress, and whether each was ended.
        self._ended: dict[Address, bool] = {}
        # Their sockets, once they have been found: a search looks at all descriptors of the process.
        self._sockets: dict[Address, DriverSocket] = {}
        self._checking = False

    def watch(self, address: Address) -> None:
        """A login begins. Raises RuntimeError if there is no thread for the checks."""
        with self._lock:
            self._ended[address] = False
            begins, self._checking = not self._checking, True
        if begins:
            try:
                self._check_after(_CHECK_INTERVAL)
            except RuntimeError:
                self._checking = False
                raise

    def release(self, address: Address) -> bool:
        """A login is over; returns whether it was ended here."""
        with self._lock:
            self._sockets.pop(address, None)
            return self._ended.pop(address, False)

    def _check_after(self, seconds: float) -> None:
        self._watchdog.at(self._watchdog.clock.monotonic() + seconds, self._check)

    def _check(self) -> None:
        with self._lock:
            watched = {address for address, ended in self._ended.items() if not ended}
            self._checking = bool(self._ended)
        if not self._checking:
            return
        started = time.monotonic()
        try:
            if watched - self._sockets.keys():
                self._find_sockets(watched)
            for address in watched & self._sockets.keys():
                self._check_one(address)
        finally:
            # Even if no descriptor is left for this check.
            self._check_after(max(_CHECK_INTERVAL, (time.monotonic() - started) / _CHECK_SHARE))

    def _find_sockets(self, watched: Set[Address]) -> None:
        found = {peer: own for own, peer in new_sockets() if peer in watched}
        with self._lock:
            self._sockets |= {peer: own for peer, own in found.items() if peer in self._ended}

    def _check_one(self, address: Address) -> None:
        own = self._sockets.get(address)
        # What waits in the kernel has not been read.
        if own and own.received() - own.waiting() > MAX_LOGIN_BYTES:
            with self._lock:
                self._ended |= {address: True} if address in self._ended else {}
            own.shut_down()


# Of all logins of the process.
login_floods = LoginFloods()
