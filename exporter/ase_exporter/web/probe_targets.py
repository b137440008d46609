"""Targets on the probe allowlist: decides whether a caller's address is allowed, and resolves names for it."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict

from ase_exporter.config import Config, Target
from ase_exporter.config.probe_allowlist import AllowlistEntry, is_address, split

# Returns the addresses of a host name; none if it cannot be resolved.
Resolver = Callable[[str], Awaitable[Sequence[str]]]

# Seconds. A name server that does not answer must not take the time of the scrape.
RESOLVE_SECONDS = 2.0
# At a time. While name servers are silent, each takes a thread.
MAX_LOOKUPS = 4


class SystemResolver:
    """Asks the system's resolver, in daemon threads: an executor would wait for a hanging lookup at exit."""

    def __init__(self, look_up: Callable[[str], Sequence[str]] | None = None) -> None:
        """look_up: a blocking function, replaced by tests."""
        self._look_up = look_up or _addresses
        self._slots = asyncio.Semaphore(MAX_LOOKUPS)

    async def __call__(self, host: str) -> Sequence[str]:
        """The IPv4 addresses of a host name, in the system's order; none after RESOLVE_SECONDS."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RESOLVE_SECONDS):
                await self._slots.acquire()
                return await self._start(host)
        return []

    def _start(self, host: str) -> "asyncio.Future[Sequence[str]]":
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[str]] = loop.create_future()

        def settle(addresses: Sequence[str]) -> None:
            self._slots.release()
            if not answer.done():
                answer.set_result(addresses)

        def run() -> None:
            addresses = self._look_up(host)
            # The loop may be closed by now.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, addresses)

        try:
            threading.Thread(target=run, name="resolver", daemon=True).start()
        except RuntimeError:
            # The limit of tasks is reached.
            settle([])
        return answer


async def find(config: Config, address: str, resolver: Resolver) -> Target | None:
    """The target at a HOST:PORT from a request; None if it is malformed or not allowed.

    The first matching entry is used. An entry of addresses also allows a name that resolves to one of them. The
    target then has that address as its host, so that the login goes to the address that was checked.
    """
    address = address.lower()
    place = split(address)
    if place is None:
        return None
    host, port = place
    addresses: Sequence[str] | None = [host] if is_address(host) else None
    for entry in config.probe_allowlist.addresses:
        if entry.port != port:
            continue
        if entry.matches_name(host):
            return _target(entry, address, host, port)
        if entry.is_of_addresses:
            if addresses is None:
                addresses = await resolver(host)
            if allowed := next(filter(entry.matches_address, addresses), None):
                return _target(entry, address, allowed, port)
    return None


def _target(entry: AllowlistEntry, name: str, host: str, port: int) -> Target:
    settings = {key: value for key, value in asdict(entry).items() if key != "address"}
    return Target(name=name, host=host, port=port, **settings)


def _addresses(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(place[4][0]) for place in found]
