"""Top reads what it shows, and what the diagnosis needs."""

import re

from tests.paths import REPOSITORY

from ase_exporter.catalogue import load_catalogue
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.top import sampling


def test_every_collector_and_metric_that_is_named_exists() -> None:
    shipped, _ = load_catalogue()
    assert sampling.COLLECTORS.keys() <= shipped.collectors.keys()
    read = {metric for name in sampling.COLLECTORS for metric in shipped.collectors[name].metrics}
    text = (REPOSITORY / "exporter" / "ase_exporter" / "top" / "figures.py").read_text()
    assert set(re.findall(r'"(ase_\w+?)"', text)) - {"ase_engine"} <= read


def test_everything_that_the_diagnosis_needs_is_read() -> None:
    """But for what has too many rows to be read that often, and names or proves what is found without it."""
    shipped, _ = load_catalogue()
    read = {metric for name in sampling.COLLECTORS for metric in shipped.collectors[name].metrics}
    needed = {each.metric for measure in catalogue().measures.values() for each in measure.selections}
    assert needed - read == {
        "ase_up",
        "ase_process_cpu_seconds_total",
        "ase_process_locks",
        "ase_object_logical_reads_total",
    }
