"""Server cursors of one session."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ase_simulator.results import Column

MAX_CURSORS = 1000


@dataclass(slots=True)
class ServerCursor:
    """A server cursor; rows: what is left to fetch, None while it is closed."""

    id: int
    name: str
    sql: str
    fetch_size: int = 1
    columns: Sequence[Column] = ()
    rows: Iterator[Sequence[object]] | None = None

    def fetch(self) -> list[Sequence[object]]:
        """The next rows, at most fetch_size."""
        return list(islice(self.rows, self.fetch_size)) if self.rows is not None else []


class Cursors:
    """By id, which the server gives, and by name, which the client gives."""

    def __init__(self) -> None:
        self._by_id: dict[int, ServerCursor] = {}
        self._last = 0

    def declare(self, name: str, sql: str) -> ServerCursor | None:
        """A new cursor; None if the name is taken or the session has too many."""
        if self.find(0, name) or len(self._by_id) >= MAX_CURSORS:
            return None
        self._last += 1
        cursor = ServerCursor(self._last, name, sql)
        self._by_id[cursor.id] = cursor
        return cursor

    def find(self, cursor: int, name: str) -> ServerCursor | None:
        """Find by id, or by name if the id is 0."""
        if cursor:
            return self._by_id.get(cursor)
        return next((held for held in self._by_id.values() if held.name == name), None)

    def forget(self, cursor: ServerCursor) -> None:
        del self._by_id[cursor.id]
