"""The rows of the mon* and system tables, as columns.yaml declares them: name -> function of the world."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.resources import files
from typing import Any
from zlib import crc32

from ase_simulator.contracts import Row
from ase_simulator.model import waits
from ase_simulator.model.tables import monitors, processes, server, storage
from ase_simulator.model.world import World
from ase_simulator.schema.sheets import Sheet
from ase_simulator.yaml_text import load_yaml

_KNOWN: dict[str, Any] = {
    "crc32": crc32,
    "waits": waits,
    **{
        name: value
        for part in (monitors, processes, server, storage)
        for name, value in vars(part).items()
        if callable(value) and not name.startswith("_")
    },
}
SHEETS = {
    name: Sheet(name, declared)
    for name, declared in load_yaml(files(__package__).joinpath("columns.yaml").read_text("utf-8"))[
        "tables"
    ].items()
}


def _rows(sheet: Sheet, world: World, columns: tuple[str, ...] | None = None) -> Iterator[Row]:
    known = {
        "world": world,
        "flows": world.counters.flows,
        "int32": world.int32,
        "date": world.date,
        "option": world.options.run,
        "started": world.date(world.started),
    }
    return sheet.rows(world.version, _KNOWN | known, columns)


Reader = Callable[..., Iterable[Row]]
TABLES: dict[str, Reader] = {name: partial(_rows, sheet) for name, sheet in SHEETS.items()}
