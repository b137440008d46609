"""deploy/dev/vocabulary.py finds words that the project does not use, and allows what its list allows."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.paths import REPOSITORY

PROGRAM = REPOSITORY / "deploy" / "dev" / "vocabulary.py"
CONTENT = {
    "terms": [
        {"pattern": "mend(ed|s|ing)?", "in": "text", "write": "fix"},
        {"pattern": r"_*most_\w+", "in": "identifier", "write": "max_"},
        {"pattern": "turns", "in": "identifier", "write": "gil_scheduler"},
    ],
    "skip": {"*.png": "not text"},
    "allowed": [{"file": "docs/*.md", "line": "mends nets", "reason": "a fisherman"}],
}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vocabulary", PROGRAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def found(path: str, content: str) -> list[tuple[int, str]]:
    vocabulary = load().Vocabulary(CONTENT)
    return [(finding.line, finding.word) for finding in vocabulary.findings(path, content)]


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("docs/a.md", "fine\nwhat mends it\n", [(2, "mends")]),
        ("docs/a.md", "it Mended, we amend and recommend\n", [(1, "Mended")]),
        ("docs/a.md", "who mends nets\n", []),
        ("other/a.md", "who mends nets\n", [(1, "mends")]),
        ("docs/a.md", "see `turns`, in turns\n", [(1, "turns")]),
        ("a/b.py", "# takes turns\nturns = MOST_ROWS\nx = 'turns'\n", [(2, "MOST_ROWS"), (2, "turns")]),
        ("a/turns.py", "", [(0, "turns")]),
        ("a/b.yaml", "a: {most_rows: 1}  # turns\n", [(1, "most_rows")]),
        ("a/b.png", "mended", []),
    ],
)
def test_words_are_found(path: str, content: str, expected: list[tuple[int, str]]) -> None:
    assert found(path, content) == expected


def test_an_allowed_use_that_is_gone_is_known() -> None:
    vocabulary = load().Vocabulary(CONTENT)
    assert vocabulary.unused == CONTENT["allowed"]
    vocabulary.findings("docs/a.md", "who mends nets\n")
    assert vocabulary.unused == []


def test_a_finding_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("what mends it\n")
    done = subprocess.run([sys.executable, PROGRAM, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"{path}:1: 'mends': write 'fix'\n")
