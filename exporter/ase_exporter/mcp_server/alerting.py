"""The tool alerts, and the runbooks that ship with the exporter."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ase_exporter import assets
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import AlertOf, FoundAlerts
from ase_exporter.mcp_server.sources import Sources

MAX_ALERTS = 50
MAX_RUNBOOKS = 8
# Labels that are fields of their own.
_FIELDS = ("alertname", "severity", "instance")


def alerts(sources: Sources, arguments: inputs.Alerts) -> FoundAlerts:
    """The alerts that fire now, with their runbooks: what they mean, how to confirm them, what to do."""
    with sources.connect() as prometheus:
        found = prometheus.alerts()
        notes = list(prometheus.warnings)
    try:
        listed = sorted((_alert(each) for each in found), key=lambda alert: alert.since)
    except (KeyError, TypeError, ValueError):
        raise UserError("Prometheus: expected alerts with labels, annotations, state and activeAt") from None
    wanted = [
        alert
        for alert in listed
        if arguments.state in ("all", alert.state) and arguments.server in ("", alert.server)
    ]
    if len(wanted) > MAX_ALERTS:
        notes.append(f"{len(wanted) - MAX_ALERTS} more alerts are left out")
    names = dict.fromkeys(alert.alert for alert in wanted) if arguments.runbooks else {}
    texts = {name: text for name in names if (text := runbook(name))}
    if len(texts) > MAX_RUNBOOKS:
        notes.append("more runbooks: resources ase-exporter://runbooks/ALERT")
    return FoundAlerts(
        alerts=wanted[:MAX_ALERTS], runbooks=dict(list(texts.items())[:MAX_RUNBOOKS]), notes=notes
    )


def runbooks() -> list[str]:
    """The names of the alerts that have a runbook."""
    return sorted(path.stem for path in assets.directory("runbooks").glob("*.md") if path.stem != "README")


def runbook(alert: str) -> str | None:
    """The runbook of an alert as Markdown; None if there is none."""
    # By the list of files, so that no name leads anywhere else.
    if alert not in runbooks():
        return None
    return (assets.directory("runbooks") / f"{alert}.md").read_text(encoding="utf-8")


def _alert(found: Mapping[str, Any]) -> AlertOf:
    labels, annotations = found["labels"], found["annotations"]
    return AlertOf.of(
        alert=labels["alertname"],
        severity=labels.get("severity", ""),
        state=found["state"],
        server=labels.get("instance", ""),
        labels={name: text for name, text in labels.items() if name not in _FIELDS},
        since=datetime.fromisoformat(found["activeAt"]).timestamp(),
        value=float(found.get("value", "nan")),
        summary=annotations.get("summary", ""),
        description=annotations.get("description", ""),
    )
