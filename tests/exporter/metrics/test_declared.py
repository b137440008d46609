"""The files of declared metrics and what is exported agree."""

import pytest
from tests.exporter.host.every_family import families

from ase_exporter.host.declared import HOST
from ase_exporter.metrics.declared import OWN, DeclaredMetrics


def test_every_declared_metric_is_exported_by_a_host_that_has_everything() -> None:
    assert HOST.by_name.keys() - set(families()) == set()


@pytest.mark.parametrize("declared", [HOST, OWN], ids=["host", "own"])
def test_every_declared_metric_has_a_help_and_sorted_labels(declared: DeclaredMetrics) -> None:
    assert declared.by_name
    assert all(declared.family(name).help.endswith(".") for name in declared.by_name)
