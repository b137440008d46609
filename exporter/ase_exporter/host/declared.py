"""The metrics of the host, as metrics.csv declares them."""

from pathlib import Path

from ase_exporter.metrics.declared import DeclaredMetrics

HOST = DeclaredMetrics(Path(__file__).with_name("metrics.csv"))
family, keys, of_group, declared_value = HOST.family, HOST.keys, HOST.of_group, HOST.value
