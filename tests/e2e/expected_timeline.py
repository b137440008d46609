"""Alerts as they fired during a scenario, and the table in alerts/scenarios.md that says when they should."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.paths import REPOSITORY

from ase_exporter.rules.intervals import seconds_of

TABLE = REPOSITORY / "alerts" / "scenarios.md"
# Alert, its subject in brackets, severity, when it fires and resolves, and why.
ROW = re.compile(r"((?:Ase|DbHost)\w+)(?:\((\w+)\))? +(\w+) +(\w+) +(\w+) +\S.*")
# The labels that name an alert's subject, if it is not the whole server.
SUBJECT_LABELS = (
    "spinlock",
    "kind",
    "database",
    "cache",
    "pool",
    "device",
    "collector",
    "error",
    "problem",
    "resource",
)


@dataclass(frozen=True)
class FiredAlert:
    """An alert that fired. fired, resolved: seconds into the scenario; resolved None: it fires until the end.

    subject: the spinlock, database, kind of change… or '' for the server.
    """

    fired: int
    resolved: int | None
    alert: str
    severity: str
    subject: str = ""

    def sort_key(self) -> tuple[int, str, str, str]:
        """By time, then by name."""
        return self.fired, self.alert, self.severity, self.subject


def documented() -> dict[str, list[FiredAlert]]:
    """The table by scenario, in order of time, without the scenarios in which nothing fires."""
    rows: dict[str, list[FiredAlert]] = {}
    scenario = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            scenario = line.removeprefix("## ").partition(":")[0]
        if row := ROW.fullmatch(line):
            alert, about, severity, fired, resolved = row.groups(default="")
            end = None if resolved == "still" else int(seconds_of(resolved))
            rows.setdefault(scenario, []).append(
                FiredAlert(int(seconds_of(fired)), end, alert, severity, about)
            )
    return {scenario: sorted(alerts, key=FiredAlert.sort_key) for scenario, alerts in rows.items()}


def until(rows: list[FiredAlert], end: int) -> list[FiredAlert]:
    """The rows as seen by an observer who stops at that second."""
    return [
        replace(each, resolved=each.resolved if each.resolved and each.resolved <= end else None)
        for each in rows
        if each.fired <= end
    ]


def periods(times: Sequence[int], interval: int) -> Iterator[list[int]]:
    """Sorted times, split where more than one interval lies between two."""
    period: list[int] = []
    for at in times:
        if period and at - period[-1] > interval:
            yield period
            period = []
        period.append(at)
    yield period
