"""What a client was answered, in the client's own words."""

from dataclasses import dataclass, field
from typing import Protocol

Row = list[str | None]


@dataclass
class Transcript:
    """sets: rows of every result set, values as text, None for NULL. counts: of statements without rows.

    messages, errors: number ('' where the client hides it) and text. parted: whether the client told where
    one set ends and the next begins; if not, all rows are in one.
    """

    sets: list[list[Row]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    parted: bool = True

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.sets for row in rows]


class Client(Protocol):
    """One client; every method connects where it must."""

    name: str

    def login(self, password: str) -> Transcript: ...

    def batch(self, sql: str) -> Transcript: ...

    def start(self, sql: str) -> None:
        """Run a batch and do not wait for its end."""
        ...

    def cancel(self) -> Transcript: ...

    def close(self) -> None: ...
