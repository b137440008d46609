"""Configuration history: sybsecurity..ch_events, kept while auditing is on."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ase_simulator.sql.session import SqlSession

_SWITCHES = ("auditing", "config history auditing")


class History:
    """Changes of the configuration, oldest first."""

    def __init__(self) -> None:
        self._events: list[dict[str, object]] = []

    def changed(
        self,
        session: "SqlSession",
        kind: str,
        target: str,
        element: str,
        old: str | None,
        new: str,
        mode: str,
    ) -> None:
        """One change; nothing is kept where it changes nothing or auditing is off."""
        if old == new or not all(session.option_run(switch, 0) for switch in _SWITCHES):
            return
        self._events.append(
            {
                "area": "server" if kind in ("sp_configure", "sp_engine", "dbcc traceon") else _area(kind),
                "type": kind,
                "target": target,
                "element": element,
                "oldvalue": old,
                "newvalue": new,
                "mode": mode or None,
                "timestamp": session.now(),
                "username": session.login.name,
                "instanceid": 1 if session.profile.cluster else 0,
            }
        )

    def events(self) -> Iterator[Mapping[str, object]]:
        """The rows of ch_events."""
        yield from self._events


def _area(kind: str) -> str:
    return "database" if kind == "sp_dboption" else "cache"
