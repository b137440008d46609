"""Thresholds for alerts.write and tests; the package reads and checks them, for `ase-exporter rules --set`."""

from ase_exporter.rules.parameters import RATIOS, DefinitionError, parameters

__all__ = ["RATIOS", "DefinitionError", "parameters"]
