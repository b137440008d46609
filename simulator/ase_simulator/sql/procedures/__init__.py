"""The system procedures: most are T-SQL (catalog.sql), one is Python."""

from ase_simulator.sql.procedures.registry import PARTS, SCRIPTED, SystemProcedure, scripted
from ase_simulator.sql.procedures.sysmon import SYSMON

__all__ = ["PARTS", "PROCEDURES", "SCRIPTED", "scripted"]

PROCEDURES: dict[str, SystemProcedure] = {SYSMON.name: SYSMON}
