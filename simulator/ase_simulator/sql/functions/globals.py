"""@@variables: their types and values, as globals.yaml and globals.csv declare them."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files

from ase_simulator.contracts import Server
from ase_simulator.results import TransactionState, Type
from ase_simulator.schema.profiles import Profile
from ase_simulator.schema.types import NATIONAL_BYTES, parse_type
from ase_simulator.sql.context import Context
from ase_simulator.sql.lookup.server_facts import boot_time, run_value
from ase_simulator.sql.types.values import EngineValue, microseconds
from ase_simulator.yaml_text import load_yaml


@dataclass(frozen=True, slots=True)
class Global:
    """One @@variable."""

    type: Type
    read: Callable[[Context], EngineValue]


def total(server: Server, table: str, *columns: str) -> int:
    """The sum of columns over all rows of a table."""
    return sum(int(str(row.get(column) or 0)) for row in server.table(table) for column in columns)


def ticks(server: Server, *columns: str) -> int:
    """Clock ticks over all engines, which monEngine has in seconds."""
    per_second = 1_000_000 // run_value(server, "sql server clock tick length", 100_000)
    return min(total(server, "monEngine", *columns) * per_second, 2**31 - 1)


def version_number(profile: Profile) -> int:
    """16.0 SP04 -> 16000."""
    first, second, third, *_ = profile.level
    return first * 1000 + second * 100 + third * 10


def kernel_mode(server: Server) -> str:
    """Whether engines are threads or, as in old versions, processes."""
    return next((option.text for option in server.options() if option.name == "kernel mode"), "process")


_KNOWN = {
    "ABORTED": TransactionState.ABORTED,
    "NATIONAL_BYTES": NATIONAL_BYTES,
    "boot_time": boot_time,
    "kernel_mode": kernel_mode,
    "microseconds": microseconds,
    "run_value": run_value,
    "ticks": ticks,
    "total": total,
    "version_number": version_number,
}


def _type(text: str) -> Type:
    found = parse_type(text)
    assert found is not None, text
    return found


def _declared() -> Iterator[tuple[str, Global]]:
    texts = files(__package__)
    for type_, entries in load_yaml(texts.joinpath("globals.yaml").read_text(encoding="utf-8")).items():
        for name, expression in entries.items():
            yield name, Global(_type(type_), eval(f"lambda session: {expression}", _KNOWN))
    lines = texts.joinpath("globals.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        yield row["name"], Global(_type(row["type"]), _constant(row["type"], row["value"]))


def _constant(type_: str, text: str) -> Callable[[Context], EngineValue]:
    value: EngineValue = text or None
    if type_.startswith("varbinary"):
        value = bytes.fromhex(text[2:]) or None
    elif not type_.startswith(("varchar", "datetime")):
        value = float(text) if type_ == "real" else int(text)
    return lambda session: value


GLOBALS = dict(_declared())
