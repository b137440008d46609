"""Top reads what it shows, and what the diagnosis needs; whatever tables.yaml names exists."""

import re
from pathlib import Path
from typing import get_type_hints

import pytest

from ase_exporter.catalogue import load_catalogue
from ase_exporter.changes.change import Change
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.readings import live
from ase_exporter.sessions.blocking import Link
from ase_exporter.sessions.statements import COSTS, StatementCost
from ase_exporter.top import figures, tables


def read() -> set[str]:
    """The metrics of the collectors that top reads."""
    shipped, _ = load_catalogue()
    assert live.COLLECTORS.keys() <= shipped.collectors.keys()
    return {metric for name in live.COLLECTORS for metric in shipped.collectors[name].metrics}


def test_every_metric_that_is_shown_is_read() -> None:
    shown = {
        selection.metric
        for table in tables.tables().values()
        for figure in table.figures.values()
        for selection in figure.selections
    }
    shown |= set(re.findall(r'"(ase_\w+?)"', Path(figures.__file__).read_text())) - {"ase_engine"}
    assert len(shown) >= 20 and shown <= read()


def test_everything_that_the_diagnosis_needs_is_read() -> None:
    """But for what has too many rows to be read that often, and names or proves what is found without it."""
    needed = {each.metric for measure in catalogue().measures.values() for each in measure.selections}
    assert needed - read() == {
        "ase_up",
        "ase_process_cpu_seconds_total",
        "ase_process_locks",
        "ase_object_logical_reads_total",
    }


# The rows of the tables that are no figures, by what they are.
ROWS: dict[str, type] = {"blocking": Link, "sessions": Link, "statements": StatementCost, "changes": Change}


def has(kind: type, path: str) -> bool:
    """Whether instances have the attribute at that path."""
    name, _, rest = path.partition(".")
    return hasattr(kind, name) and (not rest or has(get_type_hints(kind)[name], rest))


@pytest.mark.parametrize("name", tables.tables())
def test_a_table_names_what_its_rows_have(name: str) -> None:
    table = tables.tables()[name]
    figures = {*table.rows, *table.figures, *table.also}
    for path in (*table.order, *table.key, *(column.shows for column in table.columns)):
        cost = path.removeprefix("each ")
        assert path in figures or (cost in COSTS if cost != path else has(ROWS[name], path)), path
    assert {each.measure for each in table.figures.values() if each.measure} <= catalogue().measures.keys()
