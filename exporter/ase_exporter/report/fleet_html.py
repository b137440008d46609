"""The page of many servers."""

from html import escape

import numpy as np

from ase_exporter.pages.document import document
from ase_exporter.pages.sparkline import sparkline
from ase_exporter.report.alerts import AlertHistory
from ase_exporter.report.fleet import ALERT_STEP, Fleet, FleetServer, in_trouble
from ase_exporter.report.forecasts import HORIZON
from ase_exporter.report.history import mean
from ase_exporter.report.html import STYLE, table, title_of
from ase_exporter.report.period import DAY
from ase_exporter.report.verdict import bin_text, duration, moment, percent, state
from ase_exporter.rules.thresholds import SPINNING_WARNING

MAX_ROWS, MAX_ALERTS = 300, 3
WIDTH, HEIGHT = 140, 36
_STYLE = (
    STYLE
    + """\
body { max-width: 76rem; }
table { font-size: .85em; }
td svg { width: 8rem; height: auto; }
.dot { font-size: 1.2em; line-height: 1; }
@page { size: landscape; }
"""
)
_DOTS = {"bad": "worse", "warn": "changed", "good": "better", "": "soft"}


def as_html(fleet: Fleet) -> str:
    """The page."""
    period = fleet.period
    count = len(fleet.servers)
    title = f"{count} {'server' if count == 1 else 'servers'}: {title_of(period.start, period.end)}"
    high = max((np.nanmax(each.spinning, initial=0.0) for each in fleet.servers), default=0.0)
    scale = max(0.01, float(high))
    rows = [
        _row(place, each, period.count - 1, scale) for place, each in enumerate(fleet.servers[:MAX_ROWS], 1)
    ]
    header = (
        *("", "server", f"spinning, 0 to {percent(scale)}", "worst hour", "hottest spinlock"),
        *("CPU busy", "alerts", "besides"),
    )
    body = [
        f'<p class="verdict {_state(fleet)}">{escape(verdict(fleet))}</p>',
        table(header, rows, (5,), (0, 2)),
        *([f"<p>{count - MAX_ROWS} more servers are better than these.</p>"] if count > MAX_ROWS else []),
        f'<p class="method">The servers with critical alerts first, by how long they fired, then by the share of engine'
        " time spent spinning in the worst hour, then by CPU busy. The hottest spinlock and its contention are of the"
        f" whole period. Means of {bin_text(period.step)}; alerts are known to {duration(ALERT_STEP)};"
        f" forecasts: within {HORIZON / DAY:.0f} days. {fleet.requests} queries. All times are UTC."
        " <code>ase-exporter report --target NAME</code> has the details of one server.</p>",
    ]
    return document(title, "\n".join(body), _STYLE)


def verdict(fleet: Fleet) -> str:
    """What matters most of the fleet, in one sentence."""
    servers = fleet.servers
    spinning = in_trouble(servers, SPINNING_WARNING)
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


def _state(fleet: Fleet) -> str:
    states = [_server_state(each) for each in fleet.servers]
    return next(each for each in _DOTS if each in states)


def _server_state(server: FleetServer) -> str:
    """The state of a server; '' if too little is known of it."""
    spinning = server.worst.spinning if server.worst else float("nan")
    found = state(spinning, server.alerts)
    return "" if found == "good" and not np.isfinite(spinning) else found


def _row(place: int, server: FleetServer, end: int, scale: float) -> tuple[str, ...]:
    style = _DOTS[_server_state(server)]
    return (
        str(place),
        f'<span class="dot {style}">●</span> <b>{escape(server.name)}</b>',
        sparkline(list(enumerate(map(float, server.spinning))), end, scale, WIDTH, HEIGHT),
        _worst(server),
        f"{escape(server.hottest)}<br>{percent(server.contention)}" if server.hottest else "–",
        percent(server.busy),
        _alerts(server.alerts),
        _besides(server),
    )


def _worst(server: FleetServer) -> str:
    worst = server.worst
    if worst is None:
        return "no recorded series"
    if not np.isfinite(worst.spinning):
        return f"<b>{percent(worst.busy)} busy</b> {moment(worst.start)}<br>spinlocks not known"
    return (
        f'<b>{percent(worst.spinning)}</b> <span class="one">{moment(worst.start)}</span>'
        f"<br>{percent(mean(server.spinning))} on average"
    )


def _besides(server: FleetServer) -> str:
    lines = [f"{percent(server.known)} with data"]
    if server.changes:
        lines.append(f"{server.changes} change{'' if server.changes == 1 else 's'}")
    if server.full:
        lines.append(f"{escape(server.full.name)} full in {duration(server.full.seconds)}")
    return "<br>".join(lines)


def _alerts(alerts: tuple[AlertHistory, ...]) -> str:
    counted = [alert for alert in alerts if alert.severity in ("critical", "warning")]
    lines = [
        f'<span class="one{" worse" if alert.severity == "critical" else ""}">{escape(alert.name)}</span>'
        f" {duration(alert.seconds)}{', firing' if alert.firing else ''}"
        for alert in counted[:MAX_ALERTS]
    ]
    if len(counted) > MAX_ALERTS:
        lines.append(f"{len(counted) - MAX_ALERTS} more")
    return "<br>".join(lines) or "–"
