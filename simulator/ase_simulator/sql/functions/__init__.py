"""T-SQL's scalar functions, a file per family; importing this registers them all."""

from ase_simulator.sql.functions import actions, arithmetic, dates, server, strings
from ase_simulator.sql.functions.registry import FUNCTIONS

__all__ = ["FUNCTIONS", "actions", "arithmetic", "dates", "server", "strings"]
