"""What the targets of a process have in common is kept once."""

from typing import Any

from tests.exporter.catalogue.test_facts import server
from tests.exporter.catalogue.test_kept_rows import mapper

from ase_exporter.catalogue import load_catalogue, plan, read_facts
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.families import Family

TABLES = [
    ("monEngine", "EngineNumber", "smallint"),
    ("monEngine", "CPUTime", "int"),
    ("monDataCache", "CacheName", "varchar"),
]


def fresh(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows with other objects for the texts, as a driver gives them."""
    return [tuple(bytes(c, "ascii").decode() if isinstance(c, str) else c for c in row) for row in rows]


def test_servers_with_the_same_tables_share_them() -> None:
    one, other = (
        read_facts(server(monTableColumns=fresh(TABLES), syscolumns=fresh([row[:2] for row in TABLES])))
        for _ in range(2)
    )
    assert one.tables == {
        "monEngine": {"EngineNumber": "smallint", "CPUTime": "int"},
        "monDataCache": {"CacheName": "varchar"},
    }
    assert one.tables is other.tables


def test_a_server_with_fewer_columns_keeps_its_own_tables() -> None:
    fewer = [row[:2] for row in TABLES if row[1] != "CPUTime"]
    one = read_facts(server(monTableColumns=TABLES, syscolumns=[row[:2] for row in TABLES]))
    other = read_facts(server(monTableColumns=TABLES, syscolumns=fewer))
    assert (len(one.tables["monEngine"]), len(other.tables["monEngine"])) == (2, 1)


def test_statements_are_shared() -> None:
    catalogue, _ = load_catalogue()
    statements = [
        [
            statement
            for collector in plan(catalogue, read_facts(server(monTableColumns=TABLES)))
            for statement in collector.statements
        ]
        for _ in range(2)
    ]
    assert statements[0]
    assert all(one is other for one, other in zip(*statements, strict=True))


def test_targets_with_the_same_rows_share_labels_and_help() -> None:
    rows = [("one", 0, "up", 1, 1, 1.0, None), ("two", 1, "up", 1, 1, 1.0, None)]

    def families() -> list[Family]:
        return mapper("a series a row").families(fresh(rows), CounterStore(), 0.0)

    for one, other in zip(families(), families(), strict=True):
        assert one.help is other.help
        assert one.labels is other.labels
        for (labels, _), (others, _) in zip(one.samples, other.samples, strict=True):
            assert labels is others
