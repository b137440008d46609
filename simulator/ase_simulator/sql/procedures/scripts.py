"""System procedures that are T-SQL themselves."""

import re
from functools import cache
from importlib.resources import files

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

PARTS = frozenset(name for name in SCRIPTED if not name.startswith("sp_"))
"""Those that are parts of others, which no ASE has."""

REFUSED = frozenset(files(__package__).joinpath("refused.txt").read_text(encoding="utf-8").split())
"""Procedures of ASE that are not simulated."""


@cache
def scripted(name: str) -> CreateProcedure:
    """A procedure of SCRIPTED."""
    (made,) = parse_batch(SCRIPTED[name])
    assert isinstance(made, CreateProcedure)
    return made
