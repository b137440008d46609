"""No rule forgets a state at a lost scrape, outlives the engine's lookback or joins series of two exporters."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from tests.alerts.shipped import content, groups
from tests.paths import DEPLOY

from ase_exporter.rules.definitions import tolerant
from ase_exporter.rules.intervals import seconds_of
from ase_exporter.rules.parameters import parameters

VALUES = parameters()
FLEET = VALUES["fleet.labels"].split(",")
# VictoriaMetrics looks back five minutes at most, Prometheus as far as exporter.gap in these rules.
MAX_INTERVAL = seconds_of(VALUES["exporter.gap"])
# They begin or end the moment that the exporter says so, and say themselves what a gap is.
EXACT = {"AseMaintenance", "AseCollectorUnavailable", "AseCollectorFailing", "AseReplicationStopped"}
INSTANT = re.compile(r"\b(?:ase|dbhost)[_:][\w:]+(?:\{[^}]*\})?(?!\s*\[|[\w:{])")


GROUPS = groups("rules*")
ALERTS = [rule for group in GROUPS for rule in group["rules"] if "alert" in rule]


def forgetful(expr: str) -> list[str]:
    """Series of an alert of which a lost scrape leaves nothing."""
    return INSTANT.findall(re.sub(r"\b(?:on|by|without|ignoring) ?\([^)]*\)|\"[^\"]*\"(?=[^}]*$)", "", expr))


def joining(expr: str) -> list[str]:
    """Lists of labels that forget which exporter, cluster or datacentre a series is from."""
    lists = re.findall(r"\b(?:on|by) ?\(([^)]+)\)", expr)
    return [found for found in lists if not set(FLEET) <= set(re.split(r",\s*", found))]


def test_no_alert_forgets_a_state_at_a_lost_scrape() -> None:
    assert not {rule["alert"] for rule in ALERTS if forgetful(rule["expr"])} - EXACT


def slow(rule_groups: Iterable[dict[str, Any]]) -> set[str]:
    """Groups that record series so rarely that alerts which look back no further find none."""
    return {
        group["name"]
        for group in rule_groups
        if seconds_of(group.get("interval", "15s")) > MAX_INTERVAL
        and any("record" in rule for rule in group["rules"])
    }


def test_no_series_is_recorded_more_slowly_than_alerts_look_back() -> None:
    assert not slow(GROUPS)
    assert slow([{"name": "slow", "interval": "5m", "rules": [{"record": "ase:free:ratio"}]}]) == {"slow"}


# A join, by what it matches; the operators of sets allow any number of series.
JOIN = re.compile(
    r"(?P<matches>\b(?:and|or|unless)\s+)?\b(?P<how>on|ignoring) ?\((?P<labels>[^)]*)\)"
    r"(?:\s*group_(?P<side>left|right)(?: ?\([^)]*\))?)?\s*"
)


def failing(expr: str) -> list[str]:
    """Joins that fail when Prometheus has two series of one server for a while, as after a change of its labels.

    The side of which one series is allowed must be aggregated to the labels of the join. Old and new series pair with
    their own where all labels but a few count (`ignoring`).
    """
    found: list[str] = []
    for join in JOIN.finditer(expr):
        rest = expr[join.end() :]
        keeps = "by" if join["how"] == "on" else "without"
        aggregated = re.match(rf"(?:min|max|sum|count) {keeps} \(([^)]*)\)", rest)
        if not join["side"] and (join["matches"] or join["how"] == "ignoring"):
            continue
        if join["side"] == "right" or not aggregated or _labels(aggregated[1]) != _labels(join["labels"]):
            found.append(rest[:40])
    return found


def _labels(text: str) -> set[str]:
    return set(re.split(r",\s*", text.strip()))


def test_no_join_fails_when_a_target_has_two_series_for_a_while() -> None:
    assert not {found for group in GROUPS for rule in group["rules"] for found in failing(rule["expr"])}


@pytest.mark.parametrize(
    ("expr", "may_fail"),
    [
        ("a / on (job, instance) group_left () b", True),
        ("a / on (job, instance) group_left (reason) (b or c)", True),
        ("a / on (job, instance) b", True),
        ("a / on (job, instance) group_left () sum by (job) (b)", True),
        ("a / on (job, instance) group_left () sum without (name) (b)", True),
        ("a / ignoring (name) group_left b", True),
        ("max by (job) (a) / on (job) group_right () b", True),
        ("a and on (job) b / on (job) group_left () c", True),
        ("a / on (job, instance) group_left () max by (instance, job) (b)", False),
        ("a / ignoring (name) group_left sum without (name) (b)", False),
        ("a unless on (job, instance) b == 1", False),
        ("a and on (job) (b or c)", False),
    ],
)
def test_a_join_that_may_fail_is_found_and_no_other(expr: str, may_fail: bool) -> None:
    assert bool(failing(expr)) == may_fail


# Whether another replica sees a server is asked across replicas.
ACROSS_REPLICAS = {"instance, cluster, datacenter, region"}


def test_no_rule_forgets_the_labels_of_replicas_and_datacentres() -> None:
    found = {labels for group in GROUPS for rule in group["rules"] for labels in joining(rule["expr"])}
    assert found == ACROSS_REPLICAS


def test_inhibitions_keep_to_their_cluster_and_datacentre() -> None:
    for rule in content(DEPLOY / "alertmanager" / "alertmanager.yml")["inhibit_rules"]:
        assert {"cluster", "datacenter", "region"} <= set(rule["equal"])
        if "AseMaintenance" not in str(rule["source_matchers"]):
            assert {"job", "replica"} <= set(rule["equal"])


@pytest.mark.parametrize(
    "expr",
    ["ase_up == 0", "1 - ase_connections / 3", 'x > ase:free:ratio{resource="log"}', "ase_engines offset 5m"],
)
def test_a_forgetful_expression_is_found_and_the_generator_makes_it_last(expr: str) -> None:
    assert forgetful(expr)
    assert not forgetful(tolerant(expr, "2m"))


def test_windows_and_labels_are_left_alone() -> None:
    for expr in (
        "rate(ase_deadlocks_total[5m]) > 1",
        'up{job="ase_x"} == 0',
        "max_over_time(ase_up[2m] offset 1h)",
    ):
        assert tolerant(expr, "2m") == expr


def test_an_expression_that_joins_replicas_is_found() -> None:
    assert joining("a / on (job, instance) b") == ["job, instance"]
