"""The system procedures: most are T-SQL (catalog.sql), one is Python."""

from ase_simulator.sql.procedures.registry import PARTS, REFUSED, SCRIPTED, SystemProcedure, scripted
from ase_simulator.sql.procedures.sysmon import SYSMON

__all__ = ["PARTS", "PROCEDURES", "REFUSED", "SCRIPTED", "scripted"]

PROCEDURES: dict[str, SystemProcedure] = {SYSMON.name: SYSMON}
