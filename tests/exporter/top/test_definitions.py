"""What top takes from elsewhere equals what it was taken from."""

import re

from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.top import figures, sampling

RULES = REPOSITORY / "alerts" / "rules"


def expression(rule: str) -> str:
    """The expression of a recording rule."""
    found = [
        each["expr"]
        for path in RULES.glob("*.yaml")
        for group in load_yaml(path.read_text())["groups"]
        for each in group["rules"]
        if each.get("record") == rule
    ]
    assert len(found) == 1
    return str(found[0])


def test_busy_modes_are_those_of_the_rules() -> None:
    assert f'mode=~"{"|".join(figures.BUSY)}"' in expression("ase:cpu_busy:ratio_rate1m")


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
