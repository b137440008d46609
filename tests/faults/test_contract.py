"""The fault contract names tests for every promise, and every test that it names exists."""

import re
from functools import cache

from tests.paths import DOCS, REPOSITORY

from ase_exporter.assets import load_yaml

CONTRACT: dict[str, list[dict[str, object]]] = load_yaml(
    (REPOSITORY / "tests/faults/contract.yaml").read_text(encoding="utf-8")
)
ROWS = [row for rows in CONTRACT.values() for row in rows]


def named(row: dict[str, object]) -> list[tuple[str, str]]:
    """The tests of a fault, as path and name."""
    tests = row["tests"]
    assert isinstance(tests, list)
    return [tuple(test.split("::")) for test in tests]


@cache
def functions(path: str) -> set[str]:
    """The names of a file's functions and coroutines."""
    return set(re.findall(r"^ *(?:async )?def (\w+)\(", (REPOSITORY / path).read_text(), re.MULTILINE))


def test_every_fault_has_a_promise_and_tests_that_exist() -> None:
    for row in ROWS:
        assert row.keys() == {"fault", "promise", "tests"}, row
        assert row["promise"] and row["tests"], row
        for path, name in named(row):
            assert name in functions(path), f"tests/faults/contract.yaml names {path}::{name}, which is gone"


def test_every_test_that_the_security_page_names_exists() -> None:
    page = (DOCS / "security.md").read_text(encoding="utf-8")
    files = (REPOSITORY / "tests").rglob("test_*.py")
    known = set().union(*(functions(str(path.relative_to(REPOSITORY))) for path in files))
    assert set(re.findall(r"`(test_\w+)`", page)) <= known
    assert all((REPOSITORY / path).is_file() for path in re.findall(r"`(tests/[\w/]+\.py)`", page))


def test_every_test_of_a_fault_is_in_the_contract() -> None:
    in_contract = {test for row in ROWS for test in named(row)}
    for file in (REPOSITORY / "tests/faults").glob("test_*_faults.py"):
        path = str(file.relative_to(REPOSITORY))
        missing = {name for name in functions(path) if name.startswith("test_")} - {
            name for of, name in in_contract if of == path
        }
        assert not missing, f"{path}: name these tests in tests/faults/contract.yaml: {sorted(missing)}"
