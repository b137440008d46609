"""The verdict on a period in one sentence."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from ase_exporter.report.alerts import AlertHistory
from ase_exporter.report.history import Hour, mean
from ase_exporter.report.period import DAY, HOUR
from ase_exporter.report.server_report import ServerReport
from ase_exporter.rules.thresholds import SPINNING_CRITICAL, SPINNING_WARNING

State = Literal["bad", "warn", "good"]


def state(spinning: float, alerts: Sequence[AlertHistory]) -> State:
    """How bad a period was. spinning: of the worst hour, 0-1 or NaN."""
    severities = {alert.severity for alert in alerts}
    if spinning >= SPINNING_CRITICAL or "critical" in severities:
        return "bad"
    return "warn" if spinning >= SPINNING_WARNING or "warning" in severities else "good"


def verdict(report: ServerReport) -> str:
    """What matters most, in one sentence."""
    parts = [_work(report)]
    if report.effects:
        parts.append(_changes(report))
    parts.append(_alerts(report))
    if report.forecasts.full:
        first = report.forecasts.full[0]
        parts.append(f"{first.name} will be full in {duration(first.seconds)}")
    if report.missing:
        parts.append(f"data are missing for {duration(report.missing)}")
    return "; ".join(parts) + "."


def spinning_text(name: str, hour: Hour, average: float) -> str:
    """Where engine time went. average: share spent spinning over the period."""
    if not np.isfinite(hour.spinning):
        return f"{name} was {percent(hour.busy)} busy in its worst hour, {moment(hour.start)}; spinlocks are not known"
    text = f"{name} spent {percent(hour.spinning)} of its engine time spinning in its worst hour, {moment(hour.start)}"
    if hour.hottest and hour.spinning >= 0.01:
        text += f", most on {hour.hottest} ({percent(hour.contention)} contention)"
    return f"{text}, and {percent(average)} over the period"


def percent(share: float) -> str:
    """A share (0-1) for people; a dash for NaN."""
    return f"{share * 100:.1f} %" if np.isfinite(share) else "–"


def duration(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    days, rest = divmod(minutes, 1440)
    hours, left = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {left} min" if left else f"{hours} h"
    return f"{left} min"


def moment(at: float) -> str:
    """A time to the minute, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%a %d %b %H:%M")


def bin_text(seconds: float) -> str:
    """The length of a bin, for people."""
    return duration(seconds) if seconds < DAY else f"{seconds / HOUR:.0f} h"


def _work(report: ServerReport) -> str:
    return spinning_text(report.name, report.worst[0], mean(report.history.spinning))


def _changes(report: ServerReport) -> str:
    number = sum(len(effect.marks) for effect in report.effects)
    count = Counter(effect.outcome for effect in report.effects)
    outcomes = ", ".join(f"{count[outcome]} {outcome}" for outcome in count)
    return f"{number} changes ({outcomes})" if number > 1 else f"1 change ({outcomes})"


def _alerts(report: ServerReport) -> str:
    counted = [alert for alert in report.alerts if alert.severity in ("critical", "warning")]
    if not counted:
        return "no alert fired" if report.alerts_recorded else "alerts are not known"
    worst = counted[0]
    firing = len({alert.name for alert in counted if alert.firing})
    count = len({alert.name for alert in counted})
    text = f"{count} alert{'s' if count > 1 else ''} fired, {worst.name} ({worst.severity})"
    text += f" for {duration(worst.seconds)}"
    return f"{text}, {firing} still firing" if firing else text
