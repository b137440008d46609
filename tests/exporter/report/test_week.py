"""The report on a whole simulated week: every hour, change, gap and alert of it, and what the page costs."""

from collections.abc import Iterator

import pytest
from tests.exporter.report.checks import check_alerts, check_changes, check_gaps, check_hours
from tests.exporter.report.conftest import Past, told
from tests.exporter.report.week import WEEK

from ase_exporter.report.server_report import ServerReport
from ase_exporter.report.view import report_view
from ase_exporter.views.page import page as html

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(5400)]

# A page is mailed.
MAX_BYTES = 400_000


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    with told(WEEK, tmp_path_factory.mktemp("week")) as past:
        yield past


@pytest.fixture(scope="module")
def report(week: Past) -> ServerReport:
    return week.report()


def test_hours_changes_gaps_and_alerts_are_those_of_the_story(report: ServerReport, week: Past) -> None:
    # All hours but those with a change or a gap, those that follow them, the first one and the last one.
    assert check_hours(report, week) >= 150
    check_changes(report, week, ["better", "better", "worse", "better", "no evidence"])
    check_gaps(report, week)
    check_alerts(report, week)


def test_the_page_is_small_and_costs_few_queries(report: ServerReport) -> None:
    assert len(html(report_view(report)).encode()) < MAX_BYTES
    assert report.requests <= 30 + 40 * len(report.effects)
