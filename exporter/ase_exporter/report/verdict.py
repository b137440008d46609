"""Verdicts on a period, of one server and of many, in one sentence each."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.pages.text import as_count, as_duration, as_minute, as_percent
from ase_exporter.report.alerts import AlertHistory
from ase_exporter.report.fleet import Fleet, FleetServer
from ase_exporter.report.history import Hour, mean
from ase_exporter.report.server_report import ServerReport

# unknown: too little is recorded of the server.
State = Literal["bad", "warn", "good", "unknown"]
SPINNING_WARNING, SPINNING_CRITICAL = (threshold(f"cpu.spinning_{name}") for name in ("warning", "critical"))
# Findings of the worst hour that are told.
MAX_FINDINGS = 3
_WORST_FIRST: tuple[State, ...] = ("bad", "warn", "good", "unknown")


def state(spinning: float, alerts: Sequence[AlertHistory]) -> State:
    """How bad a period was. spinning: of the worst hour, 0-1 or NaN."""
    severities = {alert.severity for alert in alerts}
    if spinning >= SPINNING_CRITICAL or "critical" in severities:
        return "bad"
    return "warn" if spinning >= SPINNING_WARNING or "warning" in severities else "good"


def report_state(report: ServerReport) -> State:
    """How bad a period was: by its alerts, by spinning, and by the diagnosis of its worst hour."""
    found = state(report.worst[0].spinning, report.alerts)
    level = report.diagnosis.level
    if found == "bad" or level == "bad":
        return "bad"
    return "warn" if "warn" in (found, level) else "unknown" if level == "none" else "good"


def server_state(server: FleetServer) -> State:
    """How bad a period was for one server of many."""
    found = state(server.worst_spinning, server.alerts)
    return "unknown" if found == "good" and not np.isfinite(server.worst_spinning) else found


def fleet_state(fleet: Fleet) -> State:
    """The state of the worst server."""
    return min(map(server_state, fleet.servers), key=_WORST_FIRST.index)


def server_verdict(report: ServerReport) -> str:
    """What matters most, in one sentence."""
    parts = [f"{report.name}, worst hour from {as_minute(report.diagnosed_at)}: {report.diagnosis.sentence}"]
    parts += [f"also {each.word}: {each.text}" for each in report.diagnosis.findings[1:MAX_FINDINGS]]
    parts.append(spinning_text(report.name, report.worst[0], mean(report.history.spinning)))
    if report.effects:
        parts.append(_changes(report))
    parts.append(_alerts(report))
    if report.forecasts.full:
        first = report.forecasts.full[0]
        parts.append(f"{first.name} will be full in {as_duration(first.seconds)}")
    if report.missing:
        parts.append(f"data are missing for {as_duration(report.missing)}")
    return "; ".join(parts) + "."


def fleet_verdict(fleet: Fleet) -> str:
    """What matters most of the fleet, in one sentence."""
    servers = fleet.servers
    spinning = [each for each in servers if each.worst_spinning >= SPINNING_WARNING]
    critical = [each for each in servers if each.alerted("critical")]
    parts = [
        f"{len(spinning)} of {len(servers)} servers spent {SPINNING_WARNING * 100:.0f} % or more of their engine time"
        " spinning in their worst hour",
        f"{len(critical)} had critical alerts",
    ]
    if servers[0].worst and (spinning or critical):
        parts.append(f"the worst is {servers[0].name}")
    incomplete = sum(each.known < 0.99 for each in servers)
    if incomplete:
        parts.append(f"data are missing for {incomplete}")
    return "; ".join(parts) + "."


def spinning_text(name: str, hour: Hour, average: float) -> str:
    """Where engine time went. average: share spent spinning over the period."""
    start = as_minute(hour.start)
    if not np.isfinite(hour.spinning):
        return f"{name} was {as_percent(hour.busy)} busy in its worst hour, {start}; spinlocks are not known"
    text = f"{name} spent {as_percent(hour.spinning)} of its engine time spinning in its worst hour, {start}"
    if hour.hottest and hour.spinning >= 0.01:
        text += f", most on {hour.hottest} ({as_percent(hour.contention)} contention)"
    return f"{text}, and {as_percent(average)} over the period"


def _changes(report: ServerReport) -> str:
    number = sum(len(effect.marks) for effect in report.effects)
    count = Counter(effect.outcome for effect in report.effects)
    return f"{as_count(number, 'change')} ({', '.join(f'{count[outcome]} {outcome}' for outcome in count)})"


def _alerts(report: ServerReport) -> str:
    counted = [alert for alert in report.alerts if alert.is_urgent]
    if not counted:
        return "no alert fired" if report.alerts_recorded else "alerts are not known"
    worst = counted[0]
    firing = len({alert.name for alert in counted if alert.firing})
    text = (
        f"{as_count(len({alert.name for alert in counted}), 'alert')} fired, {worst.name} ({worst.severity})"
    )
    text += f" for {as_duration(worst.seconds)}"
    return f"{text}, {firing} still firing" if firing else text
