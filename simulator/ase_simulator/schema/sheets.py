"""Tables declared as data: where their rows come from, and an expression for each column.

source: an expression that yields the rows, as names to values; for: the loops that make them; rows: those values
themselves; without any of them, one row. when: there are rows only if this holds. names: values that are computed once.
constant: what is not simulated, or what never changes. counter: the flow of the operating point that a column counts.
versions: columns that only versions have whose name contains a text. columns: an expression for each column over the
names of a row and what the reader of the table knows; without it, the names of a row are its columns.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from ase_simulator.contracts import Row

Declared = Mapping[str, Any]


# Version and columns of the rows; None for all.
Wanted = tuple[str, tuple[str, ...] | None]


class Sheet:
    """One declared table, in one part or several, compiled when it is first read."""

    def __init__(self, name: str, declared: Declared | Sequence[Declared]) -> None:
        self.name = name
        self._parts: Sequence[Declared] = [declared] if isinstance(declared, Mapping) else declared
        self._code: dict[Wanted, list[dict[str, CodeType]]] = {}

    def rows(
        self, version: str, known: dict[str, Any], columns: tuple[str, ...] | None = None
    ) -> Iterator[Row]:
        """The rows as of now; known: the names that expressions may use besides those of a row.

        columns: those that somebody reads, by default all.
        """
        if (version, columns) not in self._code:
            self._code[version, columns] = [self._compiled(part, version, columns) for part in self._parts]
        for part, code in zip(self._parts, self._code[version, columns], strict=True):
            names = dict(known)
            for name in (*part.get("names", ()), "when"):
                names[name] = eval(code[name], names)
            if names["when"]:
                fixed = {**part.get("constant", {}), **eval(code["counter"], names)}
                for row in eval(code["source"], names):
                    yield {**fixed, **(eval(code["columns"], names, row) if "columns" in part else row)}

    def _compiled(self, part: Declared, version: str, wanted: tuple[str, ...] | None) -> dict[str, CodeType]:
        columns = dict(part.get("columns", {}))
        for text, more in part.get("versions", {}).items():
            columns |= more if text in version else {}
        counters = {column: f"world.count({flow!r})" for column, flow in part.get("counter", {}).items()}
        texts = {
            **part.get("names", {}),
            "when": part.get("when", True),
            "source": part.get("source")
            or (_looped(part["for"]) if "for" in part else part.get("rows", [{}])),
            "counter": _row(counters),
            "columns": _row(
                {name: text for name, text in columns.items() if wanted is None or name in wanted}
            ),
        }
        return {name: compile(str(text), f"{self.name}: {name}", "eval") for name, text in texts.items()}


def _row(columns: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{name!r}: ({text})" for name, text in columns.items()) + "}"


def _looped(loops: str) -> str:
    """`name, number in numbers` as an expression of all its rows."""
    names = [
        node.id
        for node in ast.walk(ast.parse(f"[0 for {loops}]"))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return f"[{_row({name: name for name in names})} for {loops}]"
