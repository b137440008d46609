"""Alerts as they fired over a scenario, and the table in alerts/scenarios.md that says when they should."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

TABLE = Path(__file__).parents[2] / "alerts" / "scenarios.md"
UNITS = {"h": 3600, "m": 60, "s": 1}
# The labels that say what an alert is about, if not the server as a whole.
THINGS = ("spinlock", "kind", "database", "cache", "pool", "device", "collector", "error", "resource")


@dataclass(frozen=True)
class Told:
    """An alert as it fired. fired, resolved: seconds into the scenario; resolved None: it fires at the end.

    about: the spinlock, database, kind of change… or '' for the server.
    """

    fired: int
    resolved: int | None
    alert: str
    severity: str
    about: str = ""

    def order(self) -> tuple[int, str, str, str]:
        """What to sort by."""
        return self.fired, self.alert, self.severity, self.about


def about(labels: Mapping[str, str]) -> str:
    """What an alert with these labels is about."""
    return next((labels[name] for name in THINGS if name in labels), "")


def told(seen: Iterable[tuple[Mapping[str, str], int]], interval: int, end: int) -> list[Told]:
    """Alerts in the order of time. seen: labels of each at every second of a look that found it firing.

    interval: seconds between looks; end: the second of the last one.
    """
    times: dict[tuple[str, str, str], set[int]] = {}
    for labels, at in seen:
        times.setdefault((labels["alertname"], labels["severity"], about(labels)), set()).add(at)
    return sorted(
        (
            Told(run[0], run[-1] + interval if run[-1] < end else None, *key)
            for key, all_of_it in times.items()
            for run in _unbroken(sorted(all_of_it), interval)
        ),
        key=Told.order,
    )


def documented() -> dict[str, list[Told]]:
    """The table, by scenario, in the order of time; scenarios in which nothing fires are not in it."""
    rows: dict[str, list[Told]] = {}
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[1].startswith(("Ase", "DbHost")):
            scenario, alert, severity, thing, fired, resolved, why = cells
            assert why
            end = None if resolved == "still" else seconds_of(resolved)
            rows.setdefault(scenario, []).append(Told(seconds_of(fired), end, alert, severity, thing))
    return {scenario: sorted(all_of_them, key=Told.order) for scenario, all_of_them in rows.items()}


def until(rows: list[Told], end: int) -> list[Told]:
    """What a watch that ends at that second sees of the rows."""
    return [
        replace(each, resolved=each.resolved if each.resolved and each.resolved <= end else None)
        for each in rows
        if each.fired <= end
    ]


def differences(wanted: list[Told], seen: list[Told], end: int, tolerance: int) -> list[str]:
    """What of the wanted was not seen, and what was seen and not wanted, in a watch that ended at that second.

    tolerance: by how many seconds the times may differ.
    """

    def alike(one: Told, other: Told) -> bool:
        ends = [min(each.resolved or end, end) for each in (one, other)]
        same = (one.alert, one.severity, one.about) == (other.alert, other.severity, other.about)
        return same and abs(one.fired - other.fired) <= tolerance and abs(ends[0] - ends[1]) <= tolerance

    unseen = list(wanted)
    wrong: list[str] = []
    for each in seen:
        if row := next((row for row in unseen if alike(row, each)), None):
            unseen.remove(row)
        else:
            wrong.append(f"not wanted: {each}")
    # What is wanted just before the end may come just after it.
    return wrong + [f"missing: {row}" for row in unseen if row.fired <= end - tolerance]


def seconds_of(duration: str) -> int:
    """Seconds of a duration as promtool prints it: 1h2m15s."""
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)([hms])", duration))


def _unbroken(times: list[int], interval: int) -> Iterator[list[int]]:
    """Times in runs of one interval apart."""
    run: list[int] = []
    for at in times:
        if run and at - run[-1] > interval:
            yield run
            run = []
        run.append(at)
    yield run
