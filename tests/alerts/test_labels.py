"""Every label in rules, in their tests and on dashboards is one that the exporter gives the metric."""

import re
from collections.abc import Iterator

import pytest
from dashboards import write
from tests.alerts.shipped import ALERTS, RULES, content
from tests.paths import DOCS

from ase_exporter.catalogue import load_catalogue

# Given by Prometheus, as `team` may be, and on Cluster Edition by the exporter.
ALWAYS = {"job", "instance", "instance_id", "team", "__name__"}
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
    # The metrics of tables `| name{labels} |` (host) and `| name | labels |` (sysmon).
    for page, row in (
        ("host", r"^\| `(dbhost_\w+)(?:\{([^}]*)\})?` \|"),
        ("sysmon", r"^\| `(ase_sysmon_\w+)` \| ([^|]*) \|"),
    ):
        for name, named in re.findall(row, (DOCS / f"{page}.md").read_text(), re.MULTILINE):
            labels[name] = set(re.findall(r"\w+", named))
    return labels


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


def expressions(what: str) -> Iterator[str]:
    """What rules ask, what their tests give them, what dashboards ask, and what runbooks tell people to ask."""
    match what:
        case "rules":
            yield from (rule["expr"] for rule in RULES)
        case "tests of rules":
            for path in (ALERTS / "tests").glob("*.yaml"):
                yield from (
                    each["series"] for test in content(path)["tests"] for each in test["input_series"]
                )
        case "dashboards":
            panels = (panel for dashboard in write.DASHBOARDS for panel in dashboard["panels"])
            yield from (target["expr"] for panel in panels for target in panel.get("targets", []))
        case "runbooks":
            yield from (path.read_text() for path in (ALERTS / "runbooks").glob("*.md"))


@pytest.mark.parametrize("what", ["rules", "tests of rules", "dashboards", "runbooks"])
def test_no_label_is_invented_and_no_word_a_pattern(what: str) -> None:
    found = list(expressions(what))
    assert found
    assert not [each for text in found for each in unknown(text)]
    assert not [each for text in found for each in re.findall(r'[=!]~ *"[\w ]*"', text)]


def test_an_invented_label_is_found() -> None:
    assert unknown('ase_rep_sender_queue_messages{database_id="4"}') == [
        "ase_rep_sender_queue_messages has no label database_id"
    ]
