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
    sysmon,
)
from ase_simulator.sql.procedures.registry import PROCEDURES

__all__ = [
    "PROCEDURES",
    "caches",
    "configuration",
    "databases",
    "keys",
    "logins",
    "metadata",
    "processes",
    "resources",
    "sysmon",
]
