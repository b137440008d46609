"""Finds words in tracked files that vocabulary.yaml rules out: vocabulary.py [FILE…]; all files if none is named.

Prints file:line, the word and what to write instead. Exit code 1 if any is found.
"""

import fnmatch
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
WORDS = Path(__file__).with_suffix(".yaml")
YAML_KEY = re.compile(r"(?:^|[\s{,-])([\w.-]+):(?=\s|$)")
CODE_WORD = re.compile(r"`([\w.]+)`")


@dataclass(frozen=True)
class Finding:
    """One use of a word. line: 1 for the first, 0 for the file's name."""

    path: str
    line: int
    word: str
    write: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r}: write {self.write!r}"


class Vocabulary:
    """The words of vocabulary.yaml, and the uses of them that are allowed."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._patterns: dict[str, list[tuple[re.Pattern[str], str]]] = {
            "text": [],
            "identifier": [],
            "module": [],
        }
        for term in content["terms"]:
            pattern = rf"\b(?:{term['pattern']})\b" if term["in"] == "text" else term["pattern"]
            self._patterns[term["in"]].append((re.compile(pattern, re.I), term["write"]))
        self._skip: dict[str, str] = content["skip"]
        self._allowed: list[dict[str, str]] = content["allowed"]
        self.unused = list(self._allowed)

    def findings(self, path: str, content: str) -> list[Finding]:
        """Uses in one file that are not allowed. path: relative to the root of the repository."""
        if any(fnmatch.fnmatch(path, pattern) for pattern in self._skip):
            return []
        return [finding for finding in self._uses(path, content) if not self._is_allowed(finding)]

    def _uses(self, path: str, content: str) -> Iterator[Finding]:
        lines = content.split("\n")
        for pattern, write in self._patterns["text"]:
            for match in pattern.finditer(content):
                number = content.count("\n", 0, match.start()) + 1
                yield Finding(path, number, match[0], write, lines[number - 1])
        names = [(kind, 0, Path(path).stem) for kind in ("identifier", "module")]
        # Reading the tokens of a program takes long, and few files have such a word at all.
        words = set(re.findall(r"\w+", content))
        if any(pattern.fullmatch(word) for pattern, _ in self._patterns["identifier"] for word in words):
            names += [("identifier", *each) for each in _identifiers(path, content)]
        for kind, number, name in names:
            for pattern, write in self._patterns[kind]:
                if pattern.fullmatch(name):
                    yield Finding(path, number, name, write, lines[number - 1] if number else path)

    def _is_allowed(self, finding: Finding) -> bool:
        for entry in self._allowed:
            if fnmatch.fnmatch(finding.path, entry["file"]) and entry["line"] in finding.text:
                if entry in self.unused:
                    self.unused.remove(entry)
                return True
        return False


def _identifiers(path: str, content: str) -> list[tuple[int, str]]:
    """(line, name) of the names in a Python or YAML file, or of the code words in a Markdown file."""
    if path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(content).readline)
        found = {(token.start[0], token.string) for token in tokens if token.type == tokenize.NAME}
        return sorted(found)
    pattern = {".yaml": YAML_KEY, ".yml": YAML_KEY, ".md": CODE_WORD}.get(Path(path).suffix)
    if pattern is None:
        return []
    return [
        (number, match[1])
        for number, line in enumerate(content.splitlines(), 1)
        for match in pattern.finditer(line)
    ]


def _tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]


def main() -> None:
    """Print all findings, and allowed uses that are gone when all files are read."""
    vocabulary = Vocabulary(yaml.safe_load(WORDS.read_text(encoding="utf-8")))
    problems: list[str] = []
    for path in sys.argv[1:] or _tracked():
        try:
            content = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        problems += map(str, vocabulary.findings(path, content))
    if not sys.argv[1:]:
        problems += [f"{WORDS.name}: no longer used: {entry}" for entry in vocabulary.unused]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
