"""Runs every query of every dashboard against VictoriaMetrics, with rules evaluated by vmalert."""

from collections.abc import Iterator

import pytest
from dashboards.fleet import FLEET
from dashboards.queries import Json
from tests import needs
from tests.dashboards import machine
from tests.dashboards.filled import SERVERS, filled
from tests.dashboards.test_queries import (
    READY,
    Case,
    Snapshot,
    complete,
    every_dashboard,
    found_anywhere,
    missing,
    queries,
    run_query,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    needs.VICTORIA_METRICS,
]


@pytest.fixture(scope="module")
def victoria(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with filled(tmp_path_factory.mktemp("victoria"), victoria=True) as stack:
        stack.wait("count(dbhost:tlb_misses:ratio_rate1m) and on () count(ase_up == 1)", timeout=120)
        machine.after(stack.root)
        found = complete(stack, f"{READY} and on () (sum(ase_up) == {len(SERVERS)})")
        stack.freeze("ase-simulator", "ase-exporter", "vmalert")
        yield found


@every_dashboard
def test_victoriametrics_answers_what_prometheus_answers(victoria: Snapshot, dashboard: Json) -> None:
    assert missing(victoria, dashboard) == set()


@every_dashboard
def test_victoriametrics_has_the_change_marks(victoria: Snapshot, dashboard: Json) -> None:
    for annotation in dashboard["annotations"]["list"]:
        case = Case(dashboard["uid"], annotation["name"], annotation["expr"], instant=False)
        assert found_anywhere(victoria, case), str(case)


def test_a_server_without_history_or_changes_keeps_its_row(victoria: Snapshot) -> None:
    """VictoriaMetrics drops NaN, so a missing value must be a number."""
    for metric in ("offset 1w", "ase:change_last"):
        (case,) = (case for case in queries(FLEET) if metric in case.expr)
        found = run_query(victoria, case)
        assert {series["metric"]["instance"] for series in found} == set(SERVERS), case
