"""The report on many servers as a view."""

from ase_exporter.report.fleet import ALERT_STEP, Fleet, FleetServer
from ase_exporter.report.forecasts import HORIZON
from ase_exporter.report.view import period_text
from ase_exporter.views.figures import counted, duration, minute, shown, zone
from ase_exporter.views.view import Cell, Line, Part, Plot, Style, Table, Verdict, View, columns

MAX_SERVERS, MAX_ALERTS = 300, 3
_LEVELS: dict[str, Style] = {"bad": "worse", "warn": "changed", "good": "better", "none": "soft"}
_TITLES = ("", "server", "rank of the first finding, 0 to 1", "worst hour", "CPU busy", "alerts", "besides")


def fleet_view(fleet: Fleet) -> View:
    """All servers, the worst first."""
    servers = fleet.servers
    rows = [(str(place), *_row(server)) for place, server in enumerate(servers[:MAX_SERVERS], 1)]
    parts: list[Part] = [
        Verdict(fleet.verdict, fleet.level),
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
        f"{server.full.name} full in {duration(server.full.seconds)}" if server.full else "",
    ]
    return (
        Cell(f"● {server.name}", style=_LEVELS[server.level]),
        Cell("", plot=Plot(line=server.ranks.tolist())),
        worst,
        shown(server.busy, "ratio"),
        "\n".join([*alerts, *more]) or "-",
        "\n".join(filter(None, besides)),
    )
