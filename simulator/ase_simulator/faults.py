"""Misbehaviour of a server, on purpose: what a scenario or a test switches on while the server runs."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Break:
    """How a result set breaks off: after that many rows the connection is closed within a row, is reset, or
    sends a token that TDS does not know."""

    how: Literal["close", "reset", "garbage"]
    after_rows: int = 0


@dataclass(slots=True)
class Faults:
    """All off at first; every connection of a listener looks here as it goes.

    mute: connections are accepted and never answered. refuse: new connections are closed at once.
    hang: requests are never answered, but for an attention. ignore_attention: attentions are never answered.
    seconds_per_row: result sets trickle, row by row. broken: how result sets break off.
    only: hang, seconds_per_row and broken strike only requests whose text contains this.
    """

    mute: bool = False
    refuse: bool = False
    hang: bool = False
    ignore_attention: bool = False
    seconds_per_row: float = 0.0
    broken: Break | None = None
    only: str = ""

    def strikes(self, request: str) -> bool:
        """Whether a request, by its text or procedure name, is one that suffers."""
        return self.only in request
