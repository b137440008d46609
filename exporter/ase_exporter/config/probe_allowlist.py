"""The probe allowlist: addresses that /probe accepts besides the names of targets."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from ase_exporter.config.fields import Seconds, Strict, Validator, is_port

_PATTERN = re.compile(r"(?P<host>[A-Za-z0-9_*][A-Za-z0-9_.*/-]*):(?P<port>[0-9]{1,5})")
_ADDRESS = re.compile(r"(?P<host>[a-z0-9_][a-z0-9_.-]{0,99}):(?P<port>[0-9]{1,5})")
_EXPECTED = (
    "expected HOST:PORT with a name such as ase*.example.com, an address such as 10.1.2.*, or a network such as"
    " 10.1.2.0/24; * matches letters, digits, _ and -, but no dots"
)


def _pattern(text: str) -> str:
    match = _PATTERN.fullmatch(text)
    if not match or not is_port(match["port"]):
        raise ValueError(_EXPECTED)
    host = match["host"]
    if "/" in host:
        try:
            ipaddress.IPv4Network(host)
        except ValueError:
            raise ValueError(_EXPECTED) from None
    elif _is_of_digits(host):
        parts = host.split(".")
        if len(parts) != 4 or not all("*" in part or int(part or 256) <= 255 for part in parts):
            raise ValueError(_EXPECTED)
    return text.lower()


def _is_of_digits(host: str) -> bool:
    return bool(re.fullmatch(r"[0-9.*]*[0-9][0-9.*]*", host))


@dataclass(frozen=True, kw_only=True, slots=True)
class AllowlistEntry(Strict):
    """A pattern of names or of addresses, with the settings of targets that match it; see `Target` for the fields.

    The caller chooses only the address, so a password is sent only to addresses that its pattern matches. A pattern of
    digits, and a network, match IPv4 addresses only: `10.1.2.*` is not the name 10.1.2.com. Any other pattern matches
    names only.
    """

    address: Annotated[str, Validator(_pattern)]
    auth: str = "default"
    module: str = "default"
    charset: str = "UTF-8"
    encrypt_password: bool = False

    @property
    def port(self) -> int:
        """The port, which is the same for all targets of the pattern."""
        return int(self.address.rpartition(":")[2])

    @property
    def is_of_addresses(self) -> bool:
        """Whether the pattern matches addresses; if not, it matches names."""
        return "/" in self._host or _is_of_digits(self._host)

    def matches_name(self, name: str) -> bool:
        """Whether this is a pattern of names that matches the whole name, which is in lower case."""
        return not self.is_of_addresses and not is_address(name) and self._matches(name)

    def matches_address(self, address: str) -> bool:
        """Whether this is a pattern of addresses that matches the IPv4 address. False for IPv6."""
        if not self.is_of_addresses or not is_address(address):
            return False
        if "/" in self._host:
            return ipaddress.IPv4Address(address) in ipaddress.IPv4Network(self._host)
        return self._matches(address)

    @property
    def _host(self) -> str:
        return self.address.rpartition(":")[0]

    def _matches(self, text: str) -> bool:
        return bool(re.fullmatch(re.escape(self._host).replace(r"\*", "[a-z0-9_-]*"), text))


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeAllowlist(Strict):
    """The addresses that /probe accepts; the first pattern that matches is used.

    max_targets: maximum number of such servers at a time. idle_timeout: seconds without a request after which the
    connection to one is closed.
    """

    addresses: tuple[AllowlistEntry, ...] = ()
    max_targets: Annotated[int, Ge(1), Le(10_000)] = 100
    idle_timeout: Seconds = 600.0


def split_address(address: str) -> tuple[str, int] | None:
    """Host and port of a lower-case HOST:PORT; None for anything else.

    A host that a resolver would read as a number must be a dotted quad: 2130706433 and 0x7f.1 mean 127.0.0.1.
    """
    match = _ADDRESS.fullmatch(address)
    if not match or not is_port(match["port"]):
        return None
    host = match["host"]
    if host.removesuffix(".").rpartition(".")[2][:1].isdigit() and not is_address(host):
        return None
    return host, int(match["port"])


def is_address(host: str) -> bool:
    """Whether a host is an IPv4 address in its usual spelling."""
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
