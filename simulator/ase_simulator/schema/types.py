"""ASE types as text, and their numbers in systypes and monTableColumns."""

import csv
import re
from functools import cache
from importlib.resources import files
from typing import Any

from ase_simulator.results import Type, TypeName

_LINES = files(__package__).joinpath("types.csv").read_text(encoding="utf-8").splitlines()
TYPES: list[dict[str, Any]] = list(csv.DictReader(line for line in _LINES if not line.startswith("#")))
TYPE_NUMBERS: dict[TypeName, tuple[int, int, int]] = {
    row["name"]: (int(row["number"]), int(row["user_type"]), int(row["bytes"])) for row in TYPES
}
"""systypes.type, usertype and bytes by name."""

_ALIASES: dict[str, TypeName] = {
    alias: row["name"] for row in TYPES for alias in row["aliases"].split("|") if alias
}

_NAMED: dict[str, Type] = {
    "sysname": Type("varchar", 30),
    "longsysname": Type("varchar", 255),
    "timestamp": Type("varbinary", 8),
}

_SHAPE = re.compile(r"^\s*([a-z]+(?:\s+[a-z]+)*)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*$", re.IGNORECASE)
_SIZED = frozenset({"char", "varchar", "nchar", "nvarchar", "unichar", "univarchar", "binary", "varbinary"})


NATIONAL_BYTES = 3
"""@@ncharsize of a server whose character set is utf8: nchar(n) and nvarchar(n) have that many bytes times n."""


@cache
def parse_type(text: str, default_length: int = 1) -> Type | None:
    """`varchar(30)`, `numeric(12,2)`, `unsigned int` as a Type; None if ASE has no such type."""
    shape = _SHAPE.match(text)
    if not shape:
        return None
    word = " ".join(shape[1].lower().split())
    if word in _NAMED:
        return _NAMED[word]
    name = _ALIASES.get(word, word)
    if name not in TYPE_NUMBERS:
        return None
    first = int(shape[2]) if shape[2] else None
    if name in _SIZED:
        return Type(name, (first if first is not None else default_length) * _national(name))
    if name in ("numeric", "decimal"):
        return Type(name, 0, first if first is not None else 18, int(shape[3] or 0))
    if name == "float" and first is not None and first <= 15:
        return Type("real")
    return Type(name)


def _national(name: str) -> int:
    return NATIONAL_BYTES if name in ("nchar", "nvarchar") else 1


def byte_length(type_: Type) -> int:
    """syscolumns.length: the bytes a value takes at most."""
    if type_.name in ("unichar", "univarchar"):
        return type_.length * 2
    if type_.name in _SIZED:
        return type_.length
    if type_.name in ("numeric", "decimal"):
        return 1 + (type_.precision * 415 // 1000 + 8) // 8
    return TYPE_NUMBERS[type_.name][2]
