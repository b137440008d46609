"""The rows of the mon* and system tables, as columns.yaml declares them: name -> function of the world."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from types import CodeType
from typing import Any
from zlib import crc32

from ase_simulator.contracts import Row
from ase_simulator.model.tables import monitors, processes, server, storage
from ase_simulator.model.world import World
from ase_simulator.schema.rows import checked
from ase_simulator.yaml_text import load_yaml

_SOURCES: dict[str, Callable[[World], Iterable[dict[str, Any]]]] = {
    **server.SOURCES,
    **processes.SOURCES,
    **storage.SOURCES,
    **monitors.SOURCES,
}
_TABLES: dict[str, dict[str, Any]] = load_yaml(
    files(__package__).joinpath("columns.yaml").read_text("utf-8")
)["tables"]


class Sheet:
    """One table of columns.yaml: where its rows come from, and an expression for each column.

    Expressions are compiled when the table is first read.
    """

    def __init__(self, name: str, declared: Mapping[str, Any]) -> None:
        self.name = name
        self.constants: dict[str, Any] = declared.get("constant", {})
        self._counters: dict[str, str] = declared.get("counter", {})
        self._declared = declared
        self._code: dict[str, tuple[dict[str, CodeType], CodeType]] = {}

    def _compiled(self, version: str) -> tuple[dict[str, CodeType], CodeType]:
        if version not in self._code:
            once = {**self._declared.get("names", {}), "when": self._declared.get("when", "True")}
            columns = dict(self._declared.get("columns", {}))
            for part, more in self._declared.get("versions", {}).items():
                columns |= more if part in version else {}
            shown = ", ".join(f"{key!r}: ({text})" for key, text in columns.items())
            self._code[version] = (
                {key: compile(str(text), f"{self.name}.{key}", "eval") for key, text in once.items()},
                compile(f"{{{shown}}}", self.name, "eval"),
            )
        return self._code[version]

    def rows(self, world: World) -> Iterator[Row]:
        """The rows as of now. Without columns, they are what the source yields."""
        once, columns = self._compiled(world.version)
        known = {
            "world": world,
            "flows": world.counters.flows,
            "int32": world.int32,
            "date": world.date,
            "option": world.options.run,
            "started": world.date(world.started),
            "crc32": crc32,
        }
        for key, code in once.items():
            known[key] = eval(code, known)
        if not known["when"]:
            return
        fixed = {**self.constants, **{column: world.count(flow) for column, flow in self._counters.items()}}
        for names in self._source(world):
            yield {**fixed, **(eval(columns, known, names) if "columns" in self._declared else names)}

    def _source(self, world: World) -> Iterable[dict[str, Any]]:
        if "rows" in self._declared:
            return list(self._declared["rows"])
        return _SOURCES[self._declared["source"]](world) if "source" in self._declared else [{}]


SHEETS = {name: Sheet(name, declared) for name, declared in _TABLES.items()}
TABLES: dict[str, Callable[[World], Iterable[Row]]] = {
    name: checked(name, sheet.rows) for name, sheet in SHEETS.items()
}


def constant_columns() -> dict[str, list[str]]:
    """By table: the columns that always have the same value."""
    return {name: sorted(sheet.constants) for name, sheet in SHEETS.items()}
