"""What the simulator does, approximates and refuses, as data."""

from importlib.resources import files
from typing import Any

from ase_simulator.model.tables import SHEETS
from ase_simulator.sql.execute.commands import DBCC, DBCC_REFUSED
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.declared import CONSTANT
from ase_simulator.sql.functions.registry import REFUSED as REFUSED_FUNCTIONS
from ase_simulator.sql.procedures import PARTS, PROCEDURES, REFUSED, SCRIPTED
from ase_simulator.sql.syntax.keywords import FIXED_SETTINGS
from ase_simulator.yaml_text import load_yaml

_DECLARED = load_yaml(files(__package__).joinpath("support.yaml").read_text(encoding="utf-8"))
_APPROXIMATED: dict[str, Any] = _DECLARED["approximated"]


def support() -> dict[str, Any]:
    """What is `done`, `approximated` and `refused`. columns: of monitoring tables whose value never changes."""
    procedures = sorted({*PROCEDURES, *SCRIPTED} - PARTS - {*_APPROXIMATED["procedures"]})
    constant = {name: sorted(sheet.constants) for name, sheet in SHEETS.items()}
    return {
        "message": 20999,
        "done": {
            "procedures": procedures,
            "functions": sorted(FUNCTIONS.keys() - CONSTANT - {"simulate"}),
            "dbcc": sorted(DBCC.keys() - {*_APPROXIMATED["dbcc"]}),
        },
        "approximated": {**_APPROXIMATED, "functions": sorted(CONSTANT), "columns": constant},
        "refused": {
            "statements": _DECLARED["refused"],
            "settings other than": FIXED_SETTINGS,
            "procedures": sorted(REFUSED),
            "functions": sorted(REFUSED_FUNCTIONS),
            "dbcc": sorted(DBCC_REFUSED),
        },
    }
