"""deploy/dev/duplicate_names.py finds a name that two packages of the exporter define."""

import runpy
from pathlib import Path

import pytest
from tests.paths import REPOSITORY

CHECK = runpy.run_path(str(REPOSITORY / "deploy" / "dev" / "duplicate_names.py"))
FILES = {
    "top/view.py": "def percent(x): ...\ndef _own(x): ...\n",
    "commands/check.py": "def check(): ...\ndef percent(x): ...\n",
    "commands/percent.py": "def check(): ...\n",
    "top/check.py": "def check(): ...\n",
    "top/text.py": "class Row: ...\n",
    "report/html.py": "async def percent(x): ...\ndef _own(x): ...\n",
    "report/page.py": "class Row:\n    def inner(self): ...\n",
    "errors.py": "class Inner:\n    class Row: ...\n    def inner(self): ...\n",
}


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (["Row"], ["percent: commands/check.py:2, report/html.py:1, top/view.py:1: rename all but one"]),
        (["percent", "Row"], []),
        (["percent", "Row", "inner"], ["inner: no two packages have it: remove the line"]),
    ],
)
def test_each_name_needs_one_definition_or_a_reason(
    tmp_path: Path, allowed: list[str], expected: list[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = list(CHECK["problems"](CHECK["definitions"](tmp_path), allowed))
    assert len(found) == len(expected)
    assert all(part in line for part, line in zip(expected, found, strict=True))
