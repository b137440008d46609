"""The system procedures: T-SQL (catalog.sql), and for sp_sysmon Python."""

import re
from functools import cache
from importlib.resources import files

from ase_simulator.sql.syntax.parser import parse_procedure
from ase_simulator.sql.syntax.statements import Procedure


def _texts() -> dict[str, str]:
    text = files(__package__).joinpath("catalog.sql").read_text(encoding="utf-8")
    return {
        found[1]: part
        for part in re.split(r"(?m)^go$", text)
        if (found := re.search(r"create procedure (\w+)", part))
    }


PROCEDURES = _texts()
"""The texts of procedures by name; each is parsed when it is first called."""

PARTS = frozenset(name for name in PROCEDURES if not name.startswith("sp_"))
"""Those that are parts of others, which no ASE has."""


@cache
def procedure(name: str) -> Procedure:
    """A procedure of PROCEDURES."""
    return parse_procedure(PROCEDURES[name])
