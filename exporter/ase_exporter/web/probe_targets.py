"""Targets on the probe allowlist: decides whether a caller's address is allowed, and resolves names for it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict

from ase_exporter.config import Config, Target
from ase_exporter.config.probe_allowlist import AllowlistEntry, is_address, split_address

# Returns the addresses of a host name; none if it cannot be resolved.
LookUp = Callable[[str], Awaitable[Sequence[str]]]


async def find_target(config: Config, address: str, look_up: LookUp) -> Target | None:
    """The target at a HOST:PORT from a request; None if it is malformed or not allowed.

    The first matching entry is used. An entry of addresses also allows a name that resolves to one of them. The
    target then has that address as its host, so that the login goes to the address that was checked.
    """
    address = address.lower()
    place = split_address(address)
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
                addresses = await look_up(host)
            if allowed := next(filter(entry.matches_address, addresses), None):
                return _target(entry, address, allowed, port)
    return None


def _target(entry: AllowlistEntry, name: str, host: str, port: int) -> Target:
    settings = {key: value for key, value in asdict(entry).items() if key != "address"}
    return Target(name=name, host=host, port=port, **settings)
