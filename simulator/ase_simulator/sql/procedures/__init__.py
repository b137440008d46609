"""The system procedures, a file per family; importing this registers them all."""

from ase_simulator.sql.procedures import (
    caches,
    configuration,
    databases,
    keys,
    logins,
    metadata,
    processes,
    resources,
    scripts,
    sysmon,
)
from ase_simulator.sql.procedures.registry import PROCEDURES
from ase_simulator.sql.procedures.scripts import SCRIPTED

__all__ = [
    "PROCEDURES",
    "SCRIPTED",
    "caches",
    "configuration",
    "databases",
    "keys",
    "logins",
    "metadata",
    "processes",
    "resources",
    "scripts",
    "sysmon",
]
