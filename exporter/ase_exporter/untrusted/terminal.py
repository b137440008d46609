"""Terminals: what text of others must not command."""

from typing import Any

from rich.console import Console


class PlainConsole(Console):
    """A console that prints text as it is: without markup, emoji, and colours for what looks like a number."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
