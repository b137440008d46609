"""The pages of one server and of many."""

from functools import partial

from ase_exporter.compare.report import pair_text
from ase_exporter.pages.render import render
from ase_exporter.pages.text import as_count, as_minute, as_second
from ase_exporter.report.alerts import AlertHistory, resolution
from ase_exporter.report.charts import charts
from ase_exporter.report.effects import MAX_JUDGED
from ase_exporter.report.fleet import ALERT_STEP, Fleet
from ase_exporter.report.forecasts import HORIZON
from ase_exporter.report.history import mean
from ase_exporter.report.period import Period
from ase_exporter.report.server_report import ServerReport

_MEANS = ("busy", "spinning", "transactions", "per_cpu_unit")


def report_page(report: ServerReport) -> str:
    return render(
        "report.html",
        title=f"{report.name}: {_title(report.period)}",
        report=report,
        mean={name: mean(getattr(report.history, name)) for name in _MEANS},
        charts=charts(report),
        spells=partial(_places, report.period),
        shown=pair_text,
        max_judged=MAX_JUDGED,
        horizon=HORIZON,
        alert_resolution=resolution(report.period),
    )


def fleet_page(fleet: Fleet) -> str:
    title = f"{as_count(len(fleet.servers), 'server')}: {_title(fleet.period)}"
    return render("fleet.html", title=title, fleet=fleet, alert_step=ALERT_STEP, horizon=HORIZON)


def _places(period: Period, alert: AlertHistory) -> list[tuple[float, float]]:
    """Left and width of the spells of an alert, in % of the period."""
    share = 100 / period.seconds
    return [(share * (each.start - period.start), share * each.seconds) for each in alert.spells]


def _title(period: Period) -> str:
    return f"{as_minute(period.start)} to {as_minute(period.end)} {as_second(period.end)[:4]} UTC"
