"""The functions of functions.yaml, each an expression, and of constants.csv, whose answer is always the same."""

import csv
import math
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

from ase_simulator.results import Type
from ase_simulator.schema.types import parse_type
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import Kind, TypeRule, function, same, text_like
from ase_simulator.sql.functions.strings import soundex, text_of
from ase_simulator.sql.lookup.server_facts import cached_text, running_text
from ase_simulator.sql.lookup.space import free_pages, log_pages, object_pages
from ase_simulator.sql.types.convert import parse_moment
from ase_simulator.sql.types.rules import INT, Typed, numeric
from ase_simulator.sql.types.values import DAY, EngineValue, microseconds, moment_of
from ase_simulator.yaml_text import load_yaml


def _alike(value: Any, whole: int) -> EngineValue:
    return float(whole) if isinstance(value, float) else whole


def _real(run: Callable[[Any], float], value: Any) -> EngineValue:
    """The value of a function of real numbers; raises SqlError 3623 outside its domain."""
    try:
        return float(run(value))
    except (ValueError, OverflowError):
        raise SqlError(3623) from None


def _whole(arguments: Sequence[Typed]) -> Type:
    """The argument's type without its decimal places."""
    type_ = arguments[0].type or INT
    return numeric(type_.precision, 0) if type_.name in ("numeric", "decimal") else type_


_KNOWN = {
    "cached_text": cached_text,
    "running_text": running_text,
    "free_pages": free_pages,
    "log_pages": log_pages,
    "object_pages": object_pages,
    "parse_moment": parse_moment,
    "microseconds": microseconds,
    "moment_of": moment_of,
    "soundex": soundex,
    "text": text_of,
    "alike": _alike,
    "real": _real,
    "math": math,
    "random": random,
    "uuid": uuid,
    "DAY": DAY,
}


def _type_rule(text: str) -> TypeRule:
    if text == "whole":
        return _whole
    if text == "as text":
        return text_like
    if text.startswith("same "):
        return same(int(text.removeprefix("same ")))
    type_ = parse_type(text)
    assert type_ is not None, text
    return type_


def _declare(name: str, declared: dict[str, Any]) -> None:
    """Registers one function of functions.yaml."""
    arguments = [part.split() for part in declared.get("takes", "").split(",") if part.strip()]
    parameters = [argument + "".join(default) for argument, _, *default in arguments]
    optional = sum(len(default) > 0 for _, _, *default in arguments)
    session = "session" in declared["value"]
    signature = ", ".join([*(["session"] if session else []), *parameters])
    run = eval(f"lambda {signature}: {declared['value']}", _KNOWN)
    kinds: Sequence[Kind] = [kind for _, kind, *_ in arguments]
    returns, pure = _type_rule(declared["returns"]), not declared.get("impure", False)
    strict = not declared.get("nulls", False)
    function(name, *kinds, returns=returns, optional=optional, session=session, pure=pure, strict=strict)(run)


def _constant_functions() -> Iterator[str]:
    """Registers those of constants.csv; yields their names."""
    lines = files(__package__).joinpath("constants.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        type_ = parse_type(row["type"])
        assert type_ is not None, row
        text = row["value"]
        value: EngineValue = text or None if type_.name == "varchar" else int(text) if text else None
        kinds: Sequence[Kind] = row["arguments"].split()  # type: ignore[assignment]
        register = function(row["name"], *kinds, returns=type_, optional=int(row["optional"]))
        register(lambda *_, value=value: value)
        yield row["name"]


for _name, _declared in load_yaml(
    files(__package__).joinpath("functions.yaml").read_text(encoding="utf-8")
).items():
    _declare(_name, _declared)

CONSTANT = frozenset(_constant_functions())
"""Functions that are approximated by one answer."""
