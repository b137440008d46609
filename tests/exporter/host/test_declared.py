"""metrics.csv and the collectors agree."""

from tests.exporter.host.every_family import families

from ase_exporter.host.declared import declared_names


def test_every_declared_metric_is_exported_by_a_host_that_has_everything() -> None:
    assert declared_names() - set(families()) == set()
