"""System procedures that are T-SQL themselves, and small ones that a script cannot be."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ase_simulator.results import Result
from ase_simulator.sql.errors import all_messages
from ase_simulator.sql.procedures.registry import ProcedureCall, procedure
from ase_simulator.sql.syntax.parser import parse_batch
from ase_simulator.sql.syntax.statements import CreateProcedure


def _texts() -> dict[str, str]:
    text = files(__package__).joinpath("catalog.sql").read_text(encoding="utf-8")
    return {
        found[1]: part
        for part in re.split(r"(?m)^go$", text)
        if (found := re.search(r"create procedure (\w+)", part))
    }


SCRIPTED = _texts()
"""The texts of procedures by name; each is parsed when it is first called."""

REFUSED = frozenset(files(__package__).joinpath("refused.txt").read_text(encoding="utf-8").split())
"""Procedures of ASE that are not simulated."""


@cache
def scripted(name: str) -> CreateProcedure:
    """A procedure of SCRIPTED."""
    (made,) = parse_batch(SCRIPTED[name])
    assert isinstance(made, CreateProcedure)
    return made


@procedure(
    "sp_namecrack",
    "@name varchar(1279)",
    "@server varchar(255) = null output",
    "@database varchar(255) = null output",
    "@owner varchar(255) = null output",
    "@object varchar(255) = null output",
)
def sp_namecrack(call: ProcedureCall) -> Iterator[Result]:
    """Splits `server.database.owner.object`."""
    parts = [None, None, None, *(part or None for part in (call.text("@name") or "").split("."))]
    for parameter, part in zip(("@server", "@database", "@owner", "@object"), parts[-4:], strict=True):
        call.values[parameter] = part
    yield from ()


@procedure(
    "sp_getmessage",
    "@message_num int",
    "@result varchar(1024) = null output",
    "@language varchar(30) = null",
)
def sp_getmessage(call: ProcedureCall) -> Iterator[Result]:
    """The text of a message; status 1 if there is none of that number."""
    known = all_messages().get(call.number("@message_num") or 0)
    call.values["@result"] = None if known is None else known[-1]
    call.status = int(known is None)
    yield from ()


@procedure("sp_hidetext", "@objname varchar(255) = null", "@tabname varchar(255) = null")
def sp_hidetext(call: ProcedureCall) -> Iterator[Result]:
    """Removes the text of a client's procedure, or of all, from syscomments."""
    name = call.text("@objname")
    for (database, known), made in call.session.shared.procedures.items():
        if database == call.session.database and (name is None or known == name.split(".")[-1]):
            made.text = ""
    yield from ()
