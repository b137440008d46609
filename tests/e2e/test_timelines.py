"""Scenarios with faults: exactly the alerts in alerts/scenarios.md fire, and they fire and resolve when it says.

The table there gives the reason for each of them.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.alerts.shipped import NAMES
from tests.e2e.evaluation import evaluate, firing_queries, timeline, timeline_of, with_sources
from tests.e2e.expected_timeline import TABLE, documented, until
from tests.e2e.simulated_time import Recording, Scraping, read_for_rules, record, record_machine
from tests.exporter.simulated import reading

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

WITHOUT = "## Alerts without a time line"


# How each is recorded: as the scenario of that name, with what rules read, unless it says otherwise.
PLAYS: Mapping[str, Mapping[str, Any]] = {
    "storm": {"seconds": 1500},
    # Once through all of its faults.
    "failures": {"seconds": 1230, "scrape_timeout": 5.0},
    "operations": {"seconds": 7800, "module": read_for_rules("rep_senders")},
    "scraping": {
        "seconds": 5400,
        "scenario": "idle",
        "module": reading("state"),
        "scraping": {
            0: "always",
            600: "in vain",
            1200: "always",
            1800: "seldom",
            3600: "always",
            4200: "removed",
            5100: "always",
        },
    },
}
# Of `scraping`: long enough for the first alerts to fire.
BEGINNING = 840
# A machine without huge pages, whose exporter does not answer for ten minutes.
MACHINE_SECONDS = 2400
MACHINE_SCRAPING: Mapping[int, Scraping] = {0: "always", 1200: "in vain", 1800: "always"}


def played(name: str, **more: Any) -> Recording:
    """The recording of a play. more: how it differs."""
    return record(**{"scenario": name, "module": read_for_rules(), **PLAYS[name], **more})


def test_the_table_has_every_scenario() -> None:
    assert set(documented()) == {*PLAYS, "machine"}


def test_every_alert_is_in_the_table_or_among_those_without_a_time_line() -> None:
    shown = {alert.alert for alerts in documented().values() for alert in alerts}
    listed = set(re.findall(r"\b(?:Ase|DbHost)\w+", TABLE.read_text().split(WITHOUT)[1]))
    assert shown & listed == set()
    assert shown | listed == set(NAMES)


def test_the_alerts_of_a_machine_are_as_documented(tmp_path: Path) -> None:
    recording = record_machine(tmp_path / "machine", MACHINE_SECONDS, MACHINE_SCRAPING)
    # Nothing else has rules on its series.
    rules = with_sources("host.alerts.yaml", "exporter.alerts.yaml", "changes.alerts.yaml")
    results = evaluate(recording, tmp_path, firing_queries(recording), rules)
    assert timeline_of(recording, results) == documented()["machine"]


def test_the_alerts_of_the_beginning_are_as_documented(tmp_path: Path) -> None:
    alerts = timeline(played("scraping", seconds=BEGINNING), tmp_path)
    assert alerts == until(documented()["scraping"], BEGINNING)


DAY = 86_400
SLOW = [pytest.mark.slow, pytest.mark.timeout(3 * 3600)]


# An idle one is scraped for a while in the play `scraping`.
@pytest.mark.parametrize(
    ("scenario", "seconds"),
    [pytest.param("quiet-oltp", DAY, marks=SLOW), pytest.param("idle", DAY, marks=SLOW)],
)
def test_nothing_fires_on_a_healthy_server(scenario: str, seconds: int, tmp_path: Path) -> None:
    assert timeline(record(scenario, seconds, module=read_for_rules()), tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scenario", PLAYS)
def test_all_alerts_are_as_documented(scenario: str, tmp_path: Path) -> None:
    assert timeline(played(scenario), tmp_path) == documented()[scenario]
