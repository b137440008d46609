"""The fenced blocks of all documents."""

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.paths import REPOSITORY

HIDDEN = {".venv", ".git", ".demo", "build", "dist", "node_modules"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block; page: its path in the repository; line: of the opening fence."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def documents() -> list[Path]:
    """All Markdown files of the repository."""
    found: list[Path] = []
    for folder, folders, files in os.walk(REPOSITORY):
        folders[:] = [name for name in folders if name not in HIDDEN]
        found += [Path(folder, name) for name in files if name.endswith(".md")]
    return sorted(found)


def blocks(language: str | None = None) -> list[Block]:
    """The blocks of a language, or all."""
    found = []
    for path in documents():
        text, page = path.read_text(encoding="utf-8"), str(path.relative_to(REPOSITORY))
        found += [
            Block(page, text.count("\n", 0, fence.start()) + 1, fence[1], fence[2])
            for fence in FENCE.finditer(text)
        ]
    return [block for block in found if language in (None, block.language)]


def block(page: str, language: str, containing: str) -> str:
    """The one block of a page in that language that holds a text."""
    (found,) = [each.text for each in blocks(language) if each.page == page and containing in each.text]
    return found
