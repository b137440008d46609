"""The label values of a table's rows, and their translations, such as of the id of a wait event to its description."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ase_exporter.assets import shipped_rows
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Label, Lookup
from ase_exporter.metrics.columns import Columns
from ase_exporter.untrusted.statements import login_name, program_name

LabelValues = tuple[str, ...]

# Tells the instances of Cluster Edition apart.
INSTANCE_LABEL = "instance_id"

# What a lookup is given beside the label's own column.
_BESIDE = {"log_problem": "ErrorNumber"}

# Characters of a message that are searched, which takes the square of them. Those of ASE have 512.
_MAX_MESSAGE = 2000
# Around names in messages, in the languages of the server.
_QUOTE = r"""\s?["'«»‹›“”„‘’「」]\s?"""

# Label values are cached per distinct row; the cache is cleared when it is larger than this.
_MAX_CACHED = 50_000


class RowLabels:
    """The labels of a group of metrics. names: sorted, as exposed. indexes: of the columns they are made from."""

    def __init__(self, labels: Mapping[str, Label], indexes: Mapping[str, int], facts: ServerFacts) -> None:
        self.names = tuple(sorted(labels))
        needed = [(label.column, _BESIDE.get(label.lookup or "", label.column)) for label in labels.values()]
        columns = [column for column in dict.fromkeys(chain.from_iterable(needed)) if column in indexes]
        self.indexes = [indexes[column] for column in columns]
        self._makers = [_maker(labels[name], columns, facts) for name in self.names]
        self._cache: dict[tuple[Any, ...], LabelValues] = {}

    def values(self, table: Columns) -> list[LabelValues]:
        """The label values of each row."""
        cache = self._cache
        if len(cache) > _MAX_CACHED:
            cache.clear()
        values = []
        for cells in table.rows(self.indexes):
            made = cache.get(cells)
            if made is None:
                made = cache[cells] = tuple([make(cells) for make in self._makers])
            values.append(made)
        return values

    def rest(self, values: LabelValues, kept: str) -> LabelValues:
        """The label values of the series for all rows without one of their own: `rest`, except for label `kept`."""
        return tuple(
            [value if name == kept else "rest" for name, value in zip(self.names, values, strict=True)]
        )


def _maker(label: Label, columns: Sequence[str], facts: ServerFacts) -> Callable[[tuple[Any, ...]], str]:
    """A function from the cells of a row to the value of one label."""
    absent = label.absent or ""
    if label.column not in columns:
        return lambda cells: absent
    index = columns.index(label.column)
    if label.lookup == "log_problem":
        number = columns.index(beside) if (beside := _BESIDE[label.lookup]) in columns else None
        return lambda cells: log_problem(
            "" if number is None else cells[number], str(cells[index] or ""), facts.temporary_databases
        )
    translate = lookup(label.lookup, facts) if label.lookup else None

    def make(cells: tuple[Any, ...]) -> str:
        cell = cells[index]
        if cell is None:
            return absent
        text = translate(cell) if translate else str(cell).strip()
        return label.map.get(text, text)

    return make


@cache
def _table(name: str) -> list[tuple[str, ...]]:
    """The lines of a CSV file beside this one; the first match counts."""
    return [tuple(row.values()) for row in shipped_rows(Path(__file__).with_name(name))]


@cache
def log_problems() -> tuple[dict[str, str], ...]:
    """The lines of log_problems.csv: number and pattern of a message, the problem, and who should hear of it."""
    return tuple(shipped_rows(Path(__file__).with_name("log_problems.csv")))


@cache
def _patterns(temporary: frozenset[str]) -> list[tuple[str, re.Pattern[str], str]]:
    """Number, pattern and problem of each line; TEMPORARY stands for the server's temporary databases in quotes."""
    names = f"'(?:{'|'.join(map(re.escape, sorted(temporary)))})'"
    return [
        (
            each["number"],
            re.compile(each["pattern"].replace("TEMPORARY", names).replace("'", _QUOTE), re.IGNORECASE),
            each["problem"],
        )
        for each in log_problems()
    ]


def log_problem(number: object, text: str, temporary: frozenset[str] = frozenset({"tempdb"})) -> str:
    """The problem that a message of the error log reports, `other` for all other messages; the first line counts.

    A number counts in any language, as names in quotes of any kind do. Stack traces and messages of the kernel have the
    severity 99 or 0 and no number; each line of a trace is a message, so its last one counts. Sources: DbxTune,
    CmErrorLog; sysmessages 1105, 3414, 3475.
    """
    return next(
        (
            problem
            for wanted, pattern, problem in _patterns(temporary)
            if wanted in ("", str(number)) and pattern.search(text, 0, _MAX_MESSAGE)
        ),
        "other",
    )


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
        "database": lambda value: facts.databases.get(value, str(value)),
        "login": lambda value: login_name(str(value)),
        "program": lambda value: program_name(str(value)),
        "version": lambda _: str(facts.version),
        "edition": lambda _: edition,
    }
    return translations[name]
