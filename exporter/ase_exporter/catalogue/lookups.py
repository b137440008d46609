"""Lookups: translate a column's value to a label's, such as a wait event id to its description."""

import csv
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Lookup
from ase_exporter.untrusted.statements import program_name

# What a spinlock protects, by prefix of its name; the first match counts. Sources: DbxTune's texts and names seen
# on real servers.
_SPINLOCK_CLASSES = Path(__file__).with_name("spinlock_classes.csv")

# Problems by the text of a message in the error log; the first match counts. Stack traces have the severity 99 or 0 and
# no number, and each line is a message, so their last one counts. Sources: DbxTune, CmErrorLog; sysmessages 1105, 3414,
# 3475.
_LOG_PROBLEMS = (
    (re.compile(r"timeslice .*current process infected at"), "time_slice"),
    (re.compile(r"Current process \(.*infected with"), "infected"),
    (re.compile(r"end of stack trace"), "stack_trace"),
    (re.compile(r"Recovery failed|marked.* suspect"), "recovery_failed"),
    (re.compile(r"no space available in SYSLOGS|Can't allocate space for object 'syslogs'"), "log_full"),
    (re.compile(r"Can't allocate space for object .* in database 'tempdb"), "tempdb_full"),
    (re.compile(r"Can't allocate space for object"), "segment_full"),
)


def log_problem(text: str) -> str:
    """The problem that a message of the error log reports, `other` for all other messages."""
    return next((problem for pattern, problem in _LOG_PROBLEMS if pattern.search(text)), "other")


@cache
def _spinlock_prefixes() -> list[tuple[str, str]]:
    with _SPINLOCK_CLASSES.open(newline="", encoding="utf-8") as file:
        return [(row["prefix"], row["class"]) for row in csv.DictReader(file)]


def spinlock_class(name: str, caches: frozenset[str]) -> str:
    """The class of a spinlock. There are few classes, so that thresholds can be set for each."""
    if name in caches or name == "default data cache":
        return "data_cache"
    return next((kind for prefix, kind in _spinlock_prefixes() if name.startswith(prefix)), "other")


def lookup(name: Lookup, facts: ServerFacts) -> Callable[[Any], str]:
    """The translation that a label's `lookup` names."""
    edition = "cluster" if facts.cluster else "smp"
    translations: dict[Lookup, Callable[[Any], str]] = {
        "spinlock_class": lambda value: spinlock_class(str(value).strip(), facts.caches),
        "wait_event": lambda value: facts.wait_events.get(value, ("", str(value)))[1],
        "wait_class": lambda value: facts.wait_events.get(value, ("unknown", ""))[0],
        "log_problem": lambda value: log_problem(str(value)),
        "database": lambda value: facts.databases.get(value, str(value)),
        "program": lambda value: program_name(str(value)),
        "version": lambda _: str(facts.version),
        "edition": lambda _: edition,
    }
    return translations[name]
