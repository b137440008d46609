"""Configured intervals of dumps become a series for each database and its log."""

import pytest

from ase_exporter.config import Config, yaml_files
from ase_exporter.scraping.target_scraper import dump_intervals


def series(text: str) -> list[tuple[str, ...]]:
    entries = yaml_files.parse(f"dumps: [{text}]", Config, "exporter.yaml").dumps
    family = dump_intervals(entries, ("a", "b"))
    return [(*labels, f"{value:g}") for labels, value in family.samples]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{database: 7d}", [("a", "database", "604800"), ("b", "database", "604800")]),
        ("{databases: [a*], log: never}", [("a", "log", "0")]),
        ("{databases: [A], log: never}", []),
        ("{}", []),
        (
            "{databases: [a], log: never}, {database: 2h, log: 90}",
            [("a", "log", "0"), ("a", "database", "7200"), ("b", "database", "7200"), ("b", "log", "90")],
        ),
    ],
)
def test_the_first_entry_that_says_something_of_a_database_decides(
    text: str, expected: list[tuple[str, ...]]
) -> None:
    assert series(text) == expected
