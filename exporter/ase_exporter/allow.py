"""Servers that are not configured by name: the addresses that a caller may give to /probe."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from ase_exporter.checks import Check, Seconds, Strict

_PATTERN = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_.*-]*:(?P<port>[0-9]{1,5})")
_ADDRESS = re.compile(r"(?P<host>[a-z0-9_][a-z0-9_.-]{0,99}):(?P<port>[0-9]{1,5})")


def _pattern(text: str) -> str:
    match = _PATTERN.fullmatch(text)
    if not match or not 1 <= int(match["port"]) <= 65535:
        raise ValueError(
            "expected HOST:PORT, where * in HOST stands for letters, digits, _ and -, not for dots"
        )
    return text.lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class AllowedAddress(Strict):
    """A pattern of addresses, how to log in there, and what is read; see `Target` for the others.

    The caller chooses none of them: a password goes only where its pattern says.
    """

    address: Annotated[str, Check(_pattern)]
    auth: str = "default"
    module: str = "default"
    charset: str = "UTF-8"
    encrypt_password: bool = False

    def matches(self, address: str) -> bool:
        """Whether the whole of an address, as `split` takes it, is one of these."""
        return bool(re.fullmatch(re.escape(self.address).replace(r"\*", "[a-z0-9_-]*"), address))


@dataclass(frozen=True, kw_only=True, slots=True)
class Allow(Strict):
    """addresses: the first pattern that matches counts; most: how many such servers are served at a time;
    idle: one that nobody asked for so long is let go, its connection closed."""

    addresses: tuple[AllowedAddress, ...] = ()
    most: Annotated[int, Ge(1), Le(10_000)] = 100
    idle: Seconds = 600.0


def split(address: str) -> tuple[str, int] | None:
    """Host and port of a lower-case HOST:PORT; None for anything else.

    What a resolver would take for a number must be a dotted quad: 2130706433 and 0x7f.1 are 127.0.0.1.
    """
    match = _ADDRESS.fullmatch(address)
    if not match or not 1 <= int(match["port"]) <= 65535:
        return None
    host = match["host"]
    if host.removesuffix(".").rpartition(".")[2][:1].isdigit():
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            return None
    return host, int(match["port"])
