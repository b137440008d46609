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
    """`15.7.SP100`, `15.7 ESD#2`, `16.0.SP02PL02`, `12.5.0.3` as comparable numbers."""
    numbers = [*map(int, re.findall(r"(?:^|\.)(\d+)", text)), 0, 0, 0, 0]
    step = re.search(r"(?:SP|ESD)#?0*(\d+)", text)
    patch = re.search(r"PL0*(\d+)", text)
    fourth = int(step[1]) if step else numbers[3]
    return numbers[0], numbers[1], numbers[2], fourth, int(patch[1]) if patch else numbers[4]


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by key, oldest first."""
    rows = csv.DictReader(
        files(__package__).joinpath("profiles.csv").read_text(encoding="utf-8").splitlines()
    )
    return {
        row["key"]: Profile(row["key"], parse_level(row["level"]), row["banner"], row["edition"] == "cluster")
        for row in rows
    }
