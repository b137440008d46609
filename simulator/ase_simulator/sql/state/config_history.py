"""Configuration history: sybsecurity..ch_events, kept while auditing is on."""

from collections.abc import Iterator
from datetime import datetime

from ase_simulator.contracts import Row

# Options that must both be on for changes to be recorded.
AUDIT_SWITCHES = ("auditing", "config history auditing")

_SERVER_WIDE = ("sp_configure", "sp_engine", "dbcc traceon")


class ConfigHistory:
    """Configuration changes, oldest first."""

    def __init__(self) -> None:
        self._events: list[dict[str, object]] = []

    def add(
        self,
        kind: str,
        target: str,
        element: str,
        old: str | None,
        new: str,
        mode: str,
        *,
        time: datetime,
        login: str,
        instance: int,
    ) -> None:
        """Record one change. kind: the command that made it, for example `sp_configure`."""
        self._events.append(
            {
                "area": _area(kind),
                "type": kind,
                "target": target,
                "element": element,
                "oldvalue": old,
                "newvalue": new,
                "mode": mode or None,
                "timestamp": time,
                "username": login,
                "instanceid": instance,
            }
        )

    def events(self) -> Iterator[Row]:
        """The rows of ch_events."""
        yield from self._events


def _area(kind: str) -> str:
    if kind in _SERVER_WIDE:
        return "server"
    return "database" if kind == "sp_dboption" else "cache"
