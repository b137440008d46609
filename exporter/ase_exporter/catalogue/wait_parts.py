"""The part of the time account that each wait belongs to, from wait_parts.csv: by number of the event, or by class."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ase_exporter.assets import shipped_rows
from ase_exporter.untrusted.encoders import promql

RUNNING_EVENT = 0
# Of a session that runs: CPU time, which the account divides into work and spinning by other means.
CPU = "cpu"
# What sessions without work and the server's own timers wait for: no part of the account.
IDLE = "idle"
OTHER = "other"


@dataclass(frozen=True, slots=True)
class WaitParts:
    """events: part by number of the event; classes: part by description of the class, for all other events."""

    events: Mapping[int, str]
    classes: Mapping[str, str]

    def part_of(self, event: int, wait_class: str) -> str:
        """The part of an event; `idle` for what is no part of the account."""
        return self.events.get(event) or self.classes.get(wait_class, OTHER)

    def of_session(self, event: int, wait_class: str) -> str:
        """What a session in this wait does: the part, or `cpu` if it runs."""
        return CPU if event == RUNNING_EVENT else self.part_of(event, wait_class)

    def events_of(self, part: str) -> list[int]:
        return [event for event, each in self.events.items() if each == part]

    def classes_of(self, part: str) -> list[str]:
        return [wait_class for wait_class, each in self.classes.items() if each == part]

    def of_account(self) -> tuple[str, str]:
        """Matchers of the waits that are part of the account: by class, or by event where that overrides the class."""
        idle = "|".join(map(str, self.events_of(IDLE)))
        others = "|".join(str(event) for event, part in self.events.items() if part != IDLE)
        classes = "|".join(self.classes_of(IDLE))
        overridden = f"event_id=~{promql(others)}, class=~{promql(classes)}"
        return f"event_id!~{promql(idle)}, class!~{promql(classes)}", overridden


@cache
def wait_parts() -> WaitParts:
    """The content of wait_parts.csv."""
    rows = shipped_rows(Path(__file__).with_name("wait_parts.csv"))
    parts = {row["wait"]: row["part"] for row in rows}
    return WaitParts(
        {int(wait): part for wait, part in parts.items() if wait.isdigit()},
        {wait: part for wait, part in parts.items() if not wait.isdigit()},
    )
