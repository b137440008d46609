"""Version profiles: the versions of ASE that the simulator can be."""

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Level = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Profile:
    """One version of ASE. key: as users name it; banner: the whole of @@version."""

    key: str
    level: Level
    banner: str
    cluster: bool = False

    def has(self, since: str, until: str = "") -> bool:
        """Whether something introduced in `since` (and removed in `until`) exists in this version."""
        if since.endswith(".CE"):
            return self.cluster and self.has(since.removesuffix(".CE"))
        if until and self.level >= parse_level(until):
            return False
        lines = [parse_level(line) for line in since.split("+")]
        same_release = [line for line in lines if line[:2] == self.level[:2]]
        return self.level >= (same_release or lines)[0]


def parse_level(text: str) -> Level:
    """`15.7.SP100`, `15.0.2.ESD5`, `16.0.SP02PL02`, `12.5.0.3` as comparable numbers."""
    numbers = [int(part) for part in re.findall(r"(?:^|\.)(\d+)", text)]
    step = re.search(r"(?:SP|ESD)0*(\d+)", text)
    patch = re.search(r"PL0*(\d+)", text)
    release = [*numbers, 0, 0, 0][:3]
    fourth = int(step[1]) if step else (numbers[3] if len(numbers) > 3 else 0)
    return (release[0], release[1], release[2], fourth, int(patch[1]) if patch else 0)


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by key, oldest first."""
    rows = csv.DictReader(
        files(__package__).joinpath("profiles.csv").read_text(encoding="utf-8").splitlines()
    )
    return {
        row["key"]: Profile(row["key"], _level(row["level"]), row["banner"], row["edition"] == "cluster")
        for row in rows
    }


def _level(text: str) -> Level:
    release, major, minor, step, patch = (int(part) for part in text.split("."))
    return release, major, minor, step, patch
