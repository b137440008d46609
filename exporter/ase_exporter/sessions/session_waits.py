"""What single sessions have waited for: since they logged in, and since they were last looked at. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.wait_parts import wait_parts
from ase_exporter.untrusted.entry import one_line

# Sessions whose last reading is kept.
_MAX_KEPT = 100


@dataclass(frozen=True, slots=True)
class SessionWait:
    """One event. doing: the part of the time account, `idle` for waits for the client.

    waits, seconds: since the login. recent: seconds since the reading before. None: not known, as of a counter that has
    wrapped, or without a reading before.
    """

    event: str
    doing: str
    waits: int | None
    seconds: float | None
    recent: float | None


@dataclass(frozen=True, slots=True)
class SessionWaits:
    """Of one session, the events with most recent time first, then those with most time. window: seconds since the
    reading before, None without one."""

    spid: int
    window: float | None
    events: tuple[SessionWait, ...]


class WaitTracker:
    """Takes readings of single sessions, and says what they waited for between two of them."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, int], tuple[float, dict[int, int]]] = {}

    def note(self, rows: Iterable[Mapping[str, Any]], facts: ServerFacts, now: float) -> list[SessionWaits]:
        """The waits of each session that has any. now: monotonic."""
        by_session: defaultdict[tuple[int, int], list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            by_session[int(row["SPID"]), int(row["KPID"])].append(row)
        return [self._waits(key, found, facts, now) for key, found in sorted(by_session.items())]

    def _waits(
        self, key: tuple[int, int], rows: list[Mapping[str, Any]], facts: ServerFacts, now: float
    ) -> SessionWaits:
        # Another process that has the spid by now has another kpid.
        read_at, before = self._last.pop(key, (None, {}))
        self._last[key] = now, {row["WaitEventID"]: row["WaitTime"] for row in rows}
        if len(self._last) > _MAX_KEPT:
            del self._last[next(iter(self._last))]
        found = []
        for row in rows:
            number, time = row["WaitEventID"], row["WaitTime"]
            wait_class, event = facts.wait_events.get(number, ("", f"event {number}"))
            growth = None if read_at is None else time - before.get(number, 0)
            found.append(
                SessionWait(
                    one_line(event),
                    wait_parts().of_session(number, wait_class),
                    row["Waits"] if row["Waits"] >= 0 else None,
                    time / 1000 if time >= 0 else None,
                    None if growth is None or growth < 0 else growth / 1000,
                )
            )
        found.sort(key=lambda each: (-(each.recent or 0.0), -(each.seconds or 0.0), each.event))
        return SessionWaits(key[0], None if read_at is None else now - read_at, tuple(found))
