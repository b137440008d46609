"""Lookups: translate a column's value to a label's, such as a wait event id to its description."""

import csv
import re
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Lookup
from ase_exporter.untrusted.statements import login_name, program_name


@cache
def _table(name: str) -> list[tuple[str, str]]:
    """The lines of a CSV file beside this one; the first match counts."""
    with Path(__file__).with_name(name).open(newline="", encoding="utf-8") as file:
        return [(first, second) for first, second in islice(csv.reader(file), 1, None)]


def log_problem(text: str) -> str:
    """The problem that a message of the error log reports, `other` for all other messages.

    Stack traces have the severity 99 or 0 and no number, and each line is a message, so their last one counts. Sources:
    DbxTune, CmErrorLog; sysmessages 1105, 3414, 3475.
    """
    problems = _table("log_problems.csv")
    return next((problem for pattern, problem in problems if re.search(pattern, text)), "other")


def spinlock_class(name: str, caches: frozenset[str]) -> str:
    """The class of a spinlock: what it protects. There are few classes, so that thresholds can be set for each.

    Sources of the prefixes: DbxTune's texts and names seen on real servers.
    """
    if name in caches or name == "default data cache":
        return "data_cache"
    prefixes = _table("spinlock_classes.csv")
    return next((kind for prefix, kind in prefixes if name.startswith(prefix)), "other")


def lookup(name: Lookup, facts: ServerFacts) -> Callable[[Any], str]:
    """The translation that a label's `lookup` names."""
    edition = "cluster" if facts.cluster else "smp"
    translations: dict[Lookup, Callable[[Any], str]] = {
        "spinlock_class": lambda value: spinlock_class(str(value).strip(), facts.caches),
        "wait_event": lambda value: facts.wait_events.get(value, ("", str(value)))[1],
        "wait_class": lambda value: facts.wait_events.get(value, ("unknown", ""))[0],
        "log_problem": lambda value: log_problem(str(value)),
        "database": lambda value: facts.databases.get(value, str(value)),
        "login": lambda value: login_name(str(value)),
        "program": lambda value: program_name(str(value)),
        "version": lambda _: str(facts.version),
        "edition": lambda _: edition,
    }
    return translations[name]
