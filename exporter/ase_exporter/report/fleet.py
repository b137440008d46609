"""Many servers over a period, the worst first. The number of queries does not depend on the number of servers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ase_exporter.changes.change import HARMLESS_KINDS
from ase_exporter.compare.prometheus import Labels, Prometheus, range_text
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import NOT_KNOWN, STATE_RANKS, Level
from ase_exporter.errors import UserError
from ase_exporter.report.alerts import WORST_FIRST, AlertHistory, alerts_by_instance, level_with
from ase_exporter.report.diagnosing import FoundInSpan, found_by_span
from ase_exporter.report.forecasts import HORIZON, RECENT, Forecast
from ase_exporter.report.history import Values, by_label, mean, not_recorded
from ase_exporter.report.period import HOUR, Period, Range

# Seconds to which alerts are known: a thousand servers have many.
ALERT_STEP = 600.0
EVERY = 'instance!=""'
SOME_SHARE = threshold("diagnosis.some_share")
_BUSY = "avg by (instance) (avg_over_time(ase:cpu_busy:ratio_rate1m{%s}[%s]))"
_ANSWERED = "max by (instance) (sum_over_time(ase_up{%s}[%s]))"
_SERVERS = "group by (instance) (last_over_time(ase_up{%s}[%s]))"
_CHANGES = 'count by (instance) (last_over_time(ase_change_timestamp_seconds{%s, kind!~"%s"}[%s]) >= %.0f)'
_FULL = "bottomk by (instance) (1, last_over_time(ase:full:seconds_forecast{%s}[%s]) < %.0f)"


@dataclass(frozen=True, slots=True)
class FleetServer:
    """One server. ranks: of the first finding, by bin; 0 without a finding.

    worst: its worst hour, None if no diagnosis is recorded. known: the share of the period in which it answered. full:
    the first resource to be full, or None.
    """

    name: str
    ranks: Values
    worst: FoundInSpan | None
    busy: float
    alerts: tuple[AlertHistory, ...]
    changes: int
    known: float
    full: Forecast | None

    def alerted(self, severity: str) -> float:
        """Seconds for which alerts of a severity fired, each counted."""
        return sum(alert.seconds for alert in self.alerts if alert.severity == severity)

    @property
    def found(self) -> float:
        """The rank of the first finding of the worst hour; below 0 for states without a finding."""
        return self.worst.rank if self.worst else STATE_RANKS[NOT_KNOWN]

    @property
    def level(self) -> Level:
        """How bad the period was, by its alerts and by the diagnosis of its worst hour."""
        return level_with(self.alerts, self.worst.level if self.worst else "none")

    @property
    def rank(self) -> tuple[float, float, float]:
        """Sort key of servers: critical alerts (to the alerts' resolution), then the worst hour."""
        return (
            self.alerted("critical") // ALERT_STEP,
            self.found,
            self.busy if np.isfinite(self.busy) else 0.0,
        )


@dataclass(frozen=True, slots=True)
class Fleet:
    """All servers, the worst first."""

    period: Period
    servers: tuple[FleetServer, ...]
    requests: int

    @property
    def level(self) -> Level:
        return min((server.level for server in self.servers), key=WORST_FIRST.index)

    @property
    def verdict(self) -> str:
        """What matters most, in one sentence."""
        words = Counter(each.worst.word for each in self.servers if each.worst and each.found >= SOME_SHARE)
        critical = sum(bool(each.alerted("critical")) for each in self.servers)
        parts = [
            f"{words.total()} of {len(self.servers)} servers had an hour with a finding of rank {SOME_SHARE:g} or more"
            + (f" ({', '.join(f'{word} {count}' for word, count in words.most_common())})" if words else ""),
            f"{critical} had critical alerts",
        ]
        if words or critical:
            parts.append(f"the worst is {self.servers[0].name}")
        if incomplete := sum(each.known < 0.99 for each in self.servers):
            parts.append(f"data are missing for {incomplete}")
        return "; ".join(parts) + "."


def read_fleet(server: Prometheus, range_: Range, now: float, more: str = "") -> Fleet:
    """The fleet. more: label matchers of its servers. Raises UserError if there is nothing to report on."""
    selector = more or EVERY
    # Bins of an hour at least: the worst hour is one of them.
    period = range_.period(now, HOUR / 2)
    whole = range_text(period.seconds)
    names = sorted({_name(each.labels) for each in server.query(_SERVERS % (selector, whole), period.end)})
    if not names:
        raise UserError(f"Prometheus has no data of any server ({{{selector}}}) in the period")
    busy, answered = (by_label(server, query, "instance", selector, period) for query in (_BUSY, _ANSWERED))
    if not busy:
        raise not_recorded("any server")
    found = found_by_span(server, selector, period.first, period.end, period.step)
    alerts = alerts_by_instance(server, selector, period, "instance", ALERT_STEP)
    changed = _CHANGES % (selector, "|".join(HARMLESS_KINDS), whole, period.start)
    changes = {_name(sample.labels): sample.value for sample in server.query(changed, period.end)}
    full = _full(server, selector, period)
    nothing = np.full(period.count, np.nan)
    servers = [
        FleetServer(
            name=name,
            ranks=_ranks(found.get(name, ()), period),
            worst=max(found.get(name, ()), key=lambda each: each.rank, default=None),
            busy=mean(busy.get(name, nothing)),
            alerts=tuple(alerts.get(name, ())),
            changes=round(changes.get(name, 0)),
            known=_known(answered.get(name, nothing), period),
            full=full.get(name),
        )
        for name in names
    ]
    return Fleet(period, tuple(sorted(servers, key=lambda each: each.rank, reverse=True)), server.requests)


def _name(labels: Labels) -> str:
    return labels.get("instance", "")


def _ranks(found: Sequence[FoundInSpan], period: Period) -> Values:
    values = np.full(period.count, np.nan)
    for each in found:
        number = round((each.start - period.first) / period.step)
        values[min(period.count - 1, max(0, number))] = max(0.0, each.rank)
    return values


def _full(server: Prometheus, selector: str, period: Period) -> Mapping[str, Forecast]:
    samples = server.query(_FULL % (selector, range_text(RECENT), HORIZON), period.end)
    return {_name(each.labels): Forecast.of(each.labels, float("nan"), each.value) for each in samples}


def _known(answered: Values, period: Period) -> float:
    """The share of the period in which a server answered. answered: scrapes with an answer by bin."""
    sound, shares = np.nan_to_num(answered), period.shares
    usual = float(np.median(sound[sound > 0])) if (sound > 0).any() else 1.0
    return float(np.minimum(sound / usual, shares).sum() / shares.sum())
