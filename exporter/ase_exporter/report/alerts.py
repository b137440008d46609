"""The alerts of a period and how long they fired, from Prometheus's series ALERTS."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ase_exporter.compare.prometheus import Labels, Prometheus, range_text
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.diagnose import Level
from ase_exporter.report.period import Period
from ase_exporter.views.figures import counted, duration

# How bad a period was, the worst first. none: too little is recorded of the server.
WORST_FIRST: tuple[Level, ...] = ("bad", "warn", "none", "good")
SEVERITIES = ("critical", "warning", "info", "none")
# Seconds. The ends of alerts are known to a minute in periods of up to a week.
MIN_STEP, MAX_POINTS = 60.0, 10_100
# An alert that returns sooner has not ended. Also the longest interval between evaluations of rules.
PAUSE = 300.0
# Labels that say where an alert comes from or details of it, not what it is about.
_ORIGIN = {
    *("__name__", "alertname", "alertstate", "severity", "class", "kind", "from", "to", "use", "banner")
}
_ORIGIN |= {*("job", "instance", "cluster", "replica", "prometheus")}
_FIRING = 'count_over_time(ALERTS{alertstate="firing", %s}[%s])'


@dataclass(frozen=True, slots=True)
class AlertHistory:
    """One alert of one severity. subjects: what it was about, '' for the server itself.

    spells: when it fired, whatever its subject, in order. firing: it did so at the end of the period.
    """

    name: str
    severity: str
    subjects: tuple[str, ...]
    spells: tuple[Span, ...]
    firing: bool

    @property
    def seconds(self) -> float:
        """How long it fired altogether."""
        return sum(spell.seconds for spell in self.spells)

    @property
    def longest(self) -> float:
        return max(spell.seconds for spell in self.spells)

    @property
    def is_urgent(self) -> bool:
        """Whether somebody was to act on it."""
        return self.severity in ("critical", "warning")

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key: severity, then duration; the worst alert comes first."""
        known = self.severity in SEVERITIES
        return SEVERITIES.index(self.severity) if known else len(SEVERITIES), -self.seconds


def resolution(period: Period) -> float:
    """Seconds to which the ends of alerts are known."""
    return max(MIN_STEP, math.ceil(period.seconds / MAX_POINTS / MIN_STEP) * MIN_STEP)


def read_alerts(server: Prometheus, selector: str, period: Period) -> list[AlertHistory]:
    """The alerts that fired, the worst first."""
    step = resolution(period)
    times: defaultdict[tuple[str, str], set[float]] = defaultdict(set)
    subjects: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for series in server.over(_FIRING % (selector, range_text(step)), period.start + step, period.end, step):
        key = series.labels.get("alertname", ""), series.labels.get("severity", "")
        times[key].update(map(float, series.times))
        subjects[key].add(_subject(series.labels))
    found = []
    for (name, severity), fired in times.items():
        about, spells = sorted(subjects[name, severity]), spells_of(sorted(fired), step)
        firing = spells[-1].end > period.end - PAUSE - step
        found.append(AlertHistory(name, severity or "none", tuple(about), tuple(spells), firing))
    return sorted(found, key=lambda alert: alert.rank)


def spells_of(times: Sequence[float], step: float) -> list[Span]:
    """The spells in which an alert was seen firing at these times, which are in order.

    A spell lasts until its last time, and for as long as usually passes until the next one.
    """
    seen = np.array(times)
    spells = []
    for group in np.split(seen, np.flatnonzero(np.diff(seen) > max(PAUSE, step)) + 1):
        usual = float(np.median(np.diff(group))) if len(group) > 1 else step
        spells.append(Span("", float(group[0]) - step, float(group[-1]) - step + usual))
    return spells


def level_with(alerts: Sequence[AlertHistory], diagnosed: Level) -> Level:
    """How bad a period was, by its alerts and by its diagnosis: the worse of both."""
    severities = {alert.severity for alert in alerts}
    told: Level = "bad" if "critical" in severities else "warn" if "warning" in severities else "good"
    return min(told, diagnosed, key=WORST_FIRST.index)


def told(alerts: Sequence[AlertHistory], *, recorded: bool) -> str:
    """The urgent alerts in words. recorded: whether alerts are known at all."""
    urgent = [alert for alert in alerts if alert.is_urgent]
    if not urgent:
        return "no alert fired" if recorded else "alerts are not known"
    worst, firing = urgent[0], len({alert.name for alert in urgent if alert.firing})
    number = counted(len({alert.name for alert in urgent}), "alert")
    text = f"{number} fired, {worst.name} ({worst.severity}) for {duration(worst.seconds)}"
    return f"{text}, {firing} still firing" if firing else text


def any_recorded(server: Prometheus, period: Period) -> bool:
    """Whether there is an alert of any server: without, the alerting rules may not be loaded."""
    return bool(server.query(f"count(last_over_time(ALERTS[{range_text(period.seconds)}]))", period.end))


def _subject(labels: Labels) -> str:
    """The values that tell two alerts of a name apart."""
    return ", ".join(value for name, value in sorted(labels.items()) if name not in _ORIGIN and value)
