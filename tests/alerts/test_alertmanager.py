"""The shipped Alertmanager configuration is valid and routes by severity and team."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.paths import DEPLOY
from tests.programs import said_by

ALERTMANAGER = DEPLOY / "alertmanager"


def amtool(*arguments: str | Path) -> str:
    return said_by("amtool", *arguments).strip()


def rendered(template: str, data: Mapping[str, object], folder: Path) -> str:
    """What a template of ours makes of a notification."""
    (folder / "data.json").write_text(json.dumps(data))
    templates = f"--template.glob={ALERTMANAGER}/templates/*.tmpl"
    text = f'--template.text={{{{ template "{template}" . }}}}'
    return amtool("template", "render", templates, text, f"--template.data={folder / 'data.json'}")


@pytest.mark.parametrize("path", sorted(ALERTMANAGER.rglob("*.yml")), ids=lambda path: path.name)
def test_every_configuration_is_accepted_by_amtool(path: Path) -> None:
    assert "SUCCESS" in amtool("check-config", path)


@pytest.mark.parametrize("status", ["firing", "resolved"])
@pytest.mark.parametrize(
    "hostile", ["<!channel>", "<http://evil|ASE>", "@channel", "http://evil/", "[x](http://e)"]
)
def test_names_of_others_mention_nobody_and_are_no_links(tmp_path: Path, status: str, hostile: str) -> None:
    texts = dict.fromkeys(("summary", "description", "dashboard_url"), f"ASE1: {hostile}")
    alert = {"status": status, "labels": {"severity": "warning", "instance": hostile}, "annotations": texts}
    data = {"status": status, "alerts": [alert], "commonLabels": {"instance": hostile}}
    for template in ("ase.title", "ase.text"):
        shown = rendered(template, data, tmp_path)
        lines = [line for line in shown.splitlines() if not line.startswith("  graph:")]
        assert "<" not in shown and ">" not in shown
        assert not any("@" in line or "://" in line for line in lines), shown


def test_a_message_reads_well(tmp_path: Path) -> None:
    labels = {"alertname": "AseBlocking", "severity": "warning", "instance": "prod1"}
    annotations = {
        "summary": "prod1: AseBlocking",
        "description": "What it means.",
        "dashboard_url": "http://grafana/d/x",
        "runbook_url": "http://runbooks/x.md",
    }
    alert = {
        "status": "firing",
        "labels": labels,
        "annotations": annotations,
        "startsAt": "2026-03-01T08:00:00Z",
    }
    data = {
        "status": "firing",
        "alerts": [alert],
        "groupLabels": {"instance": "prod1"},
        "commonLabels": labels,
    }
    assert rendered("ase.title", data, tmp_path) == "prod1: 1 firing: AseBlocking"
    lines = rendered("ase.text", data, tmp_path).splitlines()
    assert lines[:2] == ["[warning] prod1: AseBlocking", "  What it means."]
    assert lines[2].startswith("  since ")
    assert lines[3:] == ["  graph:   http://grafana/d/x", "  runbook: http://runbooks/x.md"]


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
