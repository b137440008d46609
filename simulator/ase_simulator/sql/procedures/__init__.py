"""The system procedures, a file per family; importing this registers those in Python."""

from ase_simulator.sql.procedures import (
    caches,
    configuration,
    databases,
    logins,
    processes,
    resources,
    scripts,
    sysmon,
)
from ase_simulator.sql.procedures.registry import PROCEDURES
from ase_simulator.sql.procedures.scripts import REFUSED, SCRIPTED, scripted

__all__ = [
    "PROCEDURES",
    "REFUSED",
    "SCRIPTED",
    "caches",
    "configuration",
    "databases",
    "logins",
    "processes",
    "resources",
    "scripted",
    "scripts",
    "sysmon",
]
