"""Compares versions of ASE by their profile keys."""

import re


def level(version: str) -> tuple[int, int, int]:
    """'16.0 SP02' -> (16, 0, 2); '15.7 ESD#2' -> (15, 7, 2); '15.7 SP110' -> (15, 7, 110)."""
    numbers = re.match(r"(\d+)\.(\d+)(?:\.\d+)?(?:\s+(?:SP|ESD#)(\d+))?", version)
    if numbers is None:
        raise ValueError(f"{version}: not a version such as '16.0 SP04'")
    major, minor, support = (int(number or 0) for number in numbers.groups())
    return major, minor, support
