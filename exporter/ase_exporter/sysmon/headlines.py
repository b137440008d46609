"""The rows of a report that become metrics: headlines.csv.

A row is known by its section and by its sub-headings and label, joined by ' / '; the named groups of the
pattern become the metric's labels. Where versions name a row differently, the pattern matches both.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

Unit = Literal["rate", "ratio", "states", "value"]

BUSY_STATES = {
    "user_busy": "user",
    "system_busy": "system",
    "cpu_busy": "cpu",
    "io_busy": "io",
    "idle": "idle",
    "percent": "cpu",
    "average": "cpu",
}
"""Columns of the busy tables and their `state`; the process kernel knows no split into user and system."""


@dataclass(frozen=True, slots=True)
class Headline:
    """One metric: rows of one section.

    unit: rate = count of the sample / its seconds; ratio = percent / 100; states = every busy column as a
    ratio with a label `state`; value = the one figure as printed.
    """

    name: str
    help: str
    section: str
    pattern: re.Pattern[str]
    unit: Unit
    constant: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names, sorted."""
        names = {*self.pattern.groupindex, *self.constant, *(["state"] if self.unit == "states" else [])}
        return tuple(sorted(names))


def _headlines() -> tuple[Headline, ...]:
    with (Path(__file__).parent / "headlines.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Headline(
                f"ase_sysmon_{line['name']}",
                line["help"],
                line["section"],
                re.compile(line["row"]),
                cast(Unit, line["unit"]),
                dict(pair.split("=", 1) for pair in line["constant"].split()),
            )
            for line in csv.DictReader(file)
        )


HEADLINES = _headlines()
