"""Many servers over a period, the worst first. The number of queries does not depend on the number of servers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ase_exporter.compare.prometheus import Labels, Prometheus, Sample
from ase_exporter.compare.windows import HARMLESS_KINDS
from ase_exporter.errors import UserError
from ase_exporter.report.alerts import AlertHistory, alerts_by_instance
from ase_exporter.report.forecasts import HORIZON, RECENT, Forecast
from ase_exporter.report.history import Hour, Values, binned, mean, over_bins, range_text
from ase_exporter.report.period import HOUR, Period, Range
from ase_exporter.report.server_report import Progress

# Seconds to which alerts are known: a thousand servers have many.
ALERT_STEP = 600.0
EVERY = 'instance!=""'
_SPINNING = "avg by (instance) (avg_over_time(ase:cpu_spinning:ratio_rate1m{%s}[%s]))"
_BUSY = "avg by (instance) (avg_over_time(ase:cpu_busy:ratio_rate1m{%s}[%s]))"
_ANSWERED = "max by (instance) (sum_over_time(ase_up{%s}[%s]))"
_SERVERS = "group by (instance) (last_over_time(ase_up{%s}[%s]))"
_SPUN = "sum by (instance, spinlock) (sum_over_time(ase:spinlock_top_%s:rate1m{%s}[%s]))"
_CHANGES = 'count by (instance) (last_over_time(ase_change_timestamp_seconds{%s, kind!~"%s"}[%s]) >= %.0f)'
_FULL = "bottomk by (instance) (1, last_over_time(ase:full:seconds_forecast{%s}[%s]) < %.0f)"


@dataclass(frozen=True, slots=True)
class FleetServer:
    """One server. spinning: share of engine time by bin. worst: its worst hour, None without data.

    known: the share of the period in which it answered. hottest: the spinlock that spun most over the period, '' if
    none; contention: its, over the period. full: the first resource to be full, or None.
    """

    name: str
    spinning: Values
    worst: Hour | None
    busy: float
    hottest: str
    contention: float
    alerts: tuple[AlertHistory, ...]
    changes: int
    known: float
    full: Forecast | None

    def alerted(self, severity: str) -> float:
        """Seconds for which alerts of a severity fired, each counted."""
        return sum(alert.seconds for alert in self.alerts if alert.severity == severity)

    @property
    def worst_spinning(self) -> float:
        """Share of engine time spent spinning in the worst hour, 0-1; NaN if not known."""
        return self.worst.spinning if self.worst else float("nan")

    @property
    def rank(self) -> tuple[float, tuple[float, float]]:
        """By critical alerts (to the alerts' resolution), then by the worst hour."""
        return self.alerted("critical") // ALERT_STEP, self.worst.rank if self.worst else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All servers, the worst first."""

    period: Period
    servers: tuple[FleetServer, ...]
    requests: int


def read_fleet(
    server: Prometheus, range_: Range, now: float, more: str = "", progress: Progress = lambda title: None
) -> Fleet:
    """The fleet. more: label matchers of its servers. Raises UserError if there is nothing to report on."""
    selector = more or EVERY
    # Bins of an hour at least: the worst hour is one of them.
    period = range_.period(now, HOUR / 2)
    whole = range_text(period.seconds)
    progress("servers")
    names = sorted(
        {
            sample.labels.get("instance", "")
            for sample in server.query(_SERVERS % (selector, whole), period.end)
        }
    )
    if not names:
        raise UserError(f"Prometheus has no data of any server ({{{selector}}}) in the period")
    progress("history")
    spinning, busy, answered = (
        _by_server(server, query % (selector, range_text(period.step)), period)
        for query in (_SPINNING, _BUSY, _ANSWERED)
    )
    if not busy:
        raise UserError(
            "Prometheus has no series ase:cpu_busy:ratio_rate1m of any server in the period; it is recorded by the"
            " shipped rules (ase-exporter rules --output DIR)"
        )
    hottest = _hottest(server, selector, period)
    progress("alerts")
    alerts = alerts_by_instance(server, selector, period, "instance", ALERT_STEP)
    changed = _CHANGES % (selector, "|".join(HARMLESS_KINDS), whole, period.start)
    changes = {_name(sample.labels): sample.value for sample in server.query(changed, period.end)}
    full = _full(server, selector, period)
    nothing = np.full(period.count, np.nan)
    found = [
        FleetServer(
            name=name,
            spinning=spinning.get(name, nothing),
            worst=_worst(period, spinning.get(name, nothing), busy.get(name, nothing)),
            busy=mean(busy.get(name, nothing)),
            hottest=hottest[name].labels.get("spinlock", "") if name in hottest else "",
            contention=hottest[name].value if name in hottest else float("nan"),
            alerts=tuple(alerts.get(name, ())),
            changes=round(changes.get(name, 0)),
            known=_known(answered.get(name, nothing), period),
            full=full.get(name),
        )
        for name in names
    ]
    return Fleet(period, tuple(sorted(found, key=lambda each: each.rank, reverse=True)), server.requests)


def _by_server(server: Prometheus, query: str, period: Period) -> Mapping[str, Values]:
    return {_name(each.labels): binned(each, period) for each in over_bins(server, query, period)}


def _name(labels: Labels) -> str:
    return labels.get("instance", "")


def _hottest(server: Prometheus, selector: str, period: Period) -> Mapping[str, Sample]:
    """The contention of the spinlock of each server that spun most over the period."""
    whole = range_text(period.seconds)
    spins, waits, grabs = (_SPUN % (what, selector, whole) for what in ("spins", "waits", "grabs"))
    query = f"{waits} / ({grabs} > 0) and on (instance, spinlock) topk by (instance) (1, {spins})"
    return {_name(sample.labels): sample for sample in server.query(query, period.end)}


def _full(server: Prometheus, selector: str, period: Period) -> Mapping[str, Forecast]:
    samples = server.query(_FULL % (selector, range_text(RECENT), HORIZON), period.end)
    return {
        _name(sample.labels): Forecast(
            sample.labels.get("resource", ""), sample.labels.get("database", ""), float("nan"), sample.value
        )
        for sample in samples
    }


def _worst(period: Period, spinning: Values, busy: Values) -> Hour | None:
    nothing = float("nan")
    hours = [
        Hour(float(start), period.step, float(used), float(spun), nothing, nothing)
        for start, used, spun in zip(period.starts, busy, spinning, strict=True)
        if np.isfinite(used)
    ]
    return max(hours, key=lambda hour: hour.rank, default=None)


def _known(answered: Values, period: Period) -> float:
    """The share of the period in which a server answered. answered: scrapes with an answer by bin."""
    sound, shares = np.nan_to_num(answered), period.shares
    usual = float(np.median(sound[sound > 0])) if (sound > 0).any() else 1.0
    return float(np.minimum(sound / usual, shares).sum() / shares.sum())
