"""The fault contract names a test for every promise, and every test that it names exists."""

import ast
import re

from tests.paths import REPOSITORY

PAGE = (REPOSITORY / "docs/faults.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "Fault | Promise" not in line]
NAMED = re.compile(r"`(tests/[\w/.]+\.py)::(test_\w+)`")


def functions(path: str) -> set[str]:
    """The names of a file's functions."""
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_fault_has_a_test_and_every_test_exists() -> None:
    for row in ROWS:
        named = NAMED.findall(row.rsplit(" | ", 1)[1])
        assert named, row
        for path, name in named:
            assert name in functions(path), f"{path}::{name}"


def test_every_test_that_the_security_page_names_exists() -> None:
    page = (REPOSITORY / "docs/security.md").read_text(encoding="utf-8")
    files = [
        path
        for folder in ("exporter", "faults")
        for path in (REPOSITORY / "tests" / folder).rglob("test_*.py")
    ]
    known = set().union(*(functions(str(path.relative_to(REPOSITORY))) for path in files))
    assert set(re.findall(r"`(test_\w+)`", page)) <= known
    assert all((REPOSITORY / path).is_file() for path in re.findall(r"`(tests/[\w/]+\.py)`", page))


def test_every_test_of_a_fault_is_in_the_contract() -> None:
    in_contract = set(NAMED.findall(PAGE))
    for file in (REPOSITORY / "tests/faults").glob("test_*_faults.py"):
        path = str(file.relative_to(REPOSITORY))
        tests = {name for name in functions(path) if name.startswith("test_")}
        assert {(path, name) for name in tests} <= in_contract
