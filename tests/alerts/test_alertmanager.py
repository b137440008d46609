"""The shipped Alertmanager configuration is valid and routes by severity and team."""

import subprocess
from pathlib import Path

import pytest
from tests.paths import DEPLOY

ALERTMANAGER = DEPLOY / "alertmanager"


def amtool(*arguments: str | Path) -> str:
    return subprocess.run(
        ["amtool", *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("path", sorted(ALERTMANAGER.rglob("*.yml")), ids=lambda path: path.name)
def test_every_configuration_is_accepted_by_amtool(path: Path) -> None:
    assert "SUCCESS" in amtool("check-config", path)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"severity": "none", "team": "unix"}, "nobody"),
        ({"severity": "info"}, "info"),
        ({"severity": "warning"}, "warning"),
        ({"severity": "critical"}, "critical"),
        ({"severity": "warning", "team": "unix"}, "unix"),
        ({"severity": "critical", "team": "unix"}, "critical"),
        ({"severity": "warning", "team": "someone else"}, "warning"),
    ],
)
def test_alerts_reach_the_receiver_of_their_severity_and_team(labels: dict[str, str], receiver: str) -> None:
    matchers = [f"{name}={value}" for name, value in labels.items()]
    config = ALERTMANAGER / "alertmanager.yml"
    assert amtool("config", "routes", "test", f"--config.file={config}", *matchers) == receiver
