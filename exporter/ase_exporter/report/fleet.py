"""The report on many servers, the worst first. The number of queries does not depend on the number of servers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ase_exporter.changes.change import HARMLESS_KINDS
from ase_exporter.compare.prometheus import Labels, Prometheus, range_text
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import NOT_KNOWN, STATE_RANKS, Level
from ase_exporter.errors import UserError
from ase_exporter.report.alerts import WORST_FIRST, AlertHistory, alerts_by_instance, level_with
from ase_exporter.report.diagnosing import FoundInSpan, found_by_span
from ase_exporter.report.forecasts import FULL, HORIZON, resource_of
from ase_exporter.report.history import Values, by_label, mean, not_recorded
from ase_exporter.report.period import HOUR, Period, Range
from ase_exporter.report.view import period_text
from ase_exporter.views.figures import counted, duration, minute, shown, zone
from ase_exporter.views.view import Cell, Line, Part, Plot, Style, Table, Verdict, View, columns

# Seconds to which alerts are known: a thousand servers have many.
ALERT_STEP = 600.0
EVERY = 'instance!=""'
MAX_SERVERS, MAX_ALERTS = 300, 3
SOME_SHARE = threshold("diagnosis.some_share")
_BUSY = "avg by (instance) (avg_over_time(ase:cpu_busy:ratio_rate1m{%s}[%s]))"
_ANSWERED = "max by (instance) (sum_over_time(ase_up{%s}[%s]))"
_SERVERS = "group by (instance) (last_over_time(ase_up{%s}[%s]))"
_CHANGES = 'count by (instance) (last_over_time(ase_change_timestamp_seconds{%s, kind!~"%s"}[%s]) >= %.0f)'
_LEVELS: dict[str, Style] = {"bad": "worse", "warn": "changed", "good": "better", "none": "soft"}
_TITLES = ("", "server", "rank of the first finding, 0 to 1", "worst hour", "CPU busy", "alerts", "besides")


@dataclass(frozen=True, slots=True)
class FleetServer:
    """One server. ranks: of the first finding, by bin; 0 without a finding.

    worst: its worst hour, None if no diagnosis is recorded. known: the share of the period in which it answered. full:
    the first resource to be full, and when, or ''.
    """

    name: str
    ranks: Values
    worst: FoundInSpan | None
    busy: float
    alerts: Sequence[AlertHistory]
    changes: int
    known: float
    full: str

    @property
    def critical(self) -> float:
        """Seconds for which critical alerts fired, each counted."""
        return sum(alert.seconds for alert in self.alerts if alert.severity == "critical")

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
        return self.critical // ALERT_STEP, self.found, float(np.nan_to_num(self.busy))


@dataclass(frozen=True, slots=True)
class Fleet:
    """All servers, the worst first."""

    period: Period
    servers: Sequence[FleetServer]
    requests: int

    @property
    def verdict(self) -> str:
        """What matters most, in one sentence."""
        words = Counter(each.worst.word for each in self.servers if each.worst and each.found >= SOME_SHARE)
        critical = sum(bool(each.critical) for each in self.servers)
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

    def latest(query: str) -> dict[str, tuple[Labels, float]]:
        """The values at the end of the period by server."""
        found = server.query(query, period.end)
        return {each.labels.get("instance", ""): (each.labels, each.value) for each in found}

    names = sorted(latest(_SERVERS % (selector, whole)))
    if not names:
        raise UserError(f"Prometheus has no data of any server ({{{selector}}}) in the period")
    busy, answered = (by_label(server, query, "instance", selector, period) for query in (_BUSY, _ANSWERED))
    if not busy:
        raise not_recorded("any server")
    found = found_by_span(server, selector, period.first, period.end, period.step)
    alerts = alerts_by_instance(server, selector, period, "instance", ALERT_STEP)
    changes = latest(_CHANGES % (selector, "|".join(HARMLESS_KINDS), whole, period.start))
    full = latest(f"bottomk by (instance) (1, {FULL % selector} < {HORIZON:.0f})")
    nothing = np.full(period.count, np.nan)
    servers = [
        FleetServer(
            name=name,
            ranks=_ranks(found.get(name, ()), period),
            worst=max(found.get(name, ()), key=lambda each: each.rank, default=None),
            busy=mean(busy.get(name, nothing)),
            alerts=alerts.get(name, ()),
            changes=round(changes[name][1]) if name in changes else 0,
            known=_known(answered.get(name, nothing), period),
            full=f"{resource_of(full[name][0])} full in {duration(full[name][1])}" if name in full else "",
        )
        for name in names
    ]
    return Fleet(period, sorted(servers, key=lambda each: each.rank, reverse=True), server.requests)


def _ranks(found: Sequence[FoundInSpan], period: Period) -> Values:
    values = np.full(period.count, np.nan)
    for each in found:
        number = round((each.start - period.first) / period.step)
        values[min(period.count - 1, max(0, number))] = max(0.0, each.rank)
    return values


def _known(answered: Values, period: Period) -> float:
    """The share of the period in which a server answered. answered: scrapes with an answer by bin."""
    sound, shares = np.nan_to_num(answered), period.shares
    usual = float(np.median(sound[sound > 0])) if (sound > 0).any() else 1.0
    return float(np.minimum(sound / usual, shares).sum() / shares.sum())


def fleet_view(fleet: Fleet) -> View:
    """All servers, the worst first."""
    servers = fleet.servers
    rows = [(str(place), *_row(server)) for place, server in enumerate(servers[:MAX_SERVERS], 1)]
    parts: list[Part] = [
        Verdict(fleet.verdict, min((server.level for server in servers), key=WORST_FIRST.index)),
        Table(columns(*_TITLES, figures=("", "CPU busy")), rows),
    ]
    if (more := len(servers) - MAX_SERVERS) > 0:
        parts.append(Line(f"{more} more servers are better than these."))
    parts.append(
        Line(
            "The servers with critical alerts first, by how long they fired, then by the rank of the first finding in"
            " the worst hour, then by CPU busy. A rank is the share of session time that a finding explains, of which"
            f" what is usual counts a quarter; what stops work counts 1 more. Means of {duration(fleet.period.step)};"
            f" alerts are known to {duration(ALERT_STEP)}; forecasts: within {duration(HORIZON)}. {fleet.requests}"
            f" queries. Times are {zone(fleet.period.start, fleet.period.end)}. ase-exporter report --target NAME has"
            " the details of one server.",
            "method",
        )
    )
    return View(f"{counted(len(servers), 'server')}: {period_text(fleet.period)}", parts)


def _row(server: FleetServer) -> tuple[str | Cell, ...]:
    worst = "no diagnosis recorded"
    if server.worst:
        when = f" {shown(server.worst.rank)} {minute(server.worst.start)}" if server.worst.rank > 0 else ""
        worst = server.worst.word + when
    urgent = [alert for alert in server.alerts if alert.is_urgent]
    alerts = [
        f"{alert.name} {duration(alert.seconds)}{', firing' if alert.firing else ''}"
        for alert in urgent[:MAX_ALERTS]
    ]
    more = [f"{len(urgent) - MAX_ALERTS} more"] if len(urgent) > MAX_ALERTS else []
    besides = [
        f"{shown(server.known, 'ratio')} with data",
        counted(server.changes, "change") if server.changes else "",
        server.full,
    ]
    return (
        Cell(f"● {server.name}", style=_LEVELS[server.level]),
        Cell("", plot=Plot(line=server.ranks.tolist())),
        worst,
        shown(server.busy, "ratio"),
        "\n".join([*alerts, *more]) or "-",
        "\n".join(filter(None, besides)),
    )
