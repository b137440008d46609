"""Every label in rules, in their tests and on dashboards is one that the exporter gives the metric."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from dashboards import write
from tests.paths import REPOSITORY

from ase_exporter.catalogue import load_catalogue

ALERTS = REPOSITORY / "alerts"
# Given by Prometheus, and on Cluster Edition by the exporter.
ALWAYS = {"job", "instance", "instance_id", "__name__"}
SELECTOR = re.compile(r"\b((?:ase|dbhost)_[a-z0-9_]+)\{([^}]*)\}")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")


def labels_of_metrics() -> dict[str, set[str]]:
    """The labels of each metric of the catalogue, and of each that a document describes."""
    catalogue, _ = load_catalogue()
    labels: dict[str, set[str]] = {}
    for collector in catalogue.collectors.values():
        for name, metric in collector.metrics.items():
            own = {*collector.labels, *metric.labels} | ({metric.by} if metric.by else set())
            labels.setdefault(name, set()).update(own)
    return labels | dict(_documented())


def _documented() -> Iterator[tuple[str, set[str]]]:
    """The metrics of tables `| name{labels} |` (host) and `| name | labels |` (sysmon)."""
    for name, labels in re.findall(r"^\| `(dbhost_\w+)(?:\{([^}]*)\})?` \|", _document("host"), re.MULTILINE):
        yield name, set(re.findall(r"\w+", labels))
    for name, labels in re.findall(
        r"^\| `(ase_sysmon_\w+)` \| ([^|]*) \|", _document("sysmon"), re.MULTILINE
    ):
        yield name, set(re.findall(r"\w+", labels))


def _document(name: str) -> str:
    return (REPOSITORY / "docs" / f"{name}.md").read_text()


LABELS = labels_of_metrics()


def unknown(text: str) -> list[str]:
    """Labels in selectors of metrics that do not have them."""
    return [
        f"{name} has no label {label}"
        for name, matchers in SELECTOR.findall(text)
        if name in LABELS
        for label in MATCHER.findall(matchers)
        if label not in LABELS[name] | ALWAYS
    ]


@pytest.mark.parametrize("path", sorted((ALERTS / "rules").glob("*.yaml")), ids=lambda path: path.name)
def test_rules_use_labels_that_exist(path: Path) -> None:
    groups = yaml.safe_load(path.read_text())["groups"]
    assert not [each for group in groups for rule in group["rules"] for each in unknown(rule["expr"])]


@pytest.mark.parametrize("path", sorted((ALERTS / "tests").glob("*.yaml")), ids=lambda path: path.name)
def test_tests_of_rules_do_not_invent_labels(path: Path) -> None:
    tests = yaml.safe_load(path.read_text())["tests"]
    series = [each["series"] for test in tests for each in test["input_series"]]
    assert not [each for text in series for each in unknown(text)]


def test_dashboards_use_labels_that_exist() -> None:
    expressions = {
        target["expr"]
        for dashboard in write.DASHBOARDS
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    }
    assert not [each for text in expressions for each in unknown(text)]


def test_runbooks_use_labels_that_exist() -> None:
    assert not [each for path in (ALERTS / "runbooks").glob("*.md") for each in unknown(path.read_text())]


def test_an_invented_label_is_found() -> None:
    assert unknown('ase_rep_sender_queue_messages{database_id="4"}') == [
        "ase_rep_sender_queue_messages has no label database_id"
    ]
