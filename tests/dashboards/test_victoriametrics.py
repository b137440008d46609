"""Every query of every dashboard, asked of VictoriaMetrics, whose rules vmalert evaluates."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from dashboards.fleet import FLEET
from dashboards.queries import Json
from tests import needs
from tests.dashboards import machine
from tests.dashboards.filled import SERVERS, filled
from tests.dashboards.test_queries import (
    SETTLED,
    Asked,
    Case,
    ask,
    awaited,
    every_dashboard,
    missing,
    queries,
    settled,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    needs.VICTORIA_METRICS,
]


@pytest.fixture(scope="module")
def victoria(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with filled(tmp_path_factory.mktemp("victoria"), victoria=True) as stack:
        stack.wait("count(dbhost:tlb_misses:ratio_rate1m) and on () count(ase_up == 1)", timeout=120)
        machine.after(stack.root)
        yield settled(stack, timeout=240)


@every_dashboard
def test_victoriametrics_answers_what_prometheus_answers(victoria: Asked, dashboard: Json) -> None:
    assert missing(victoria, dashboard) == set()


@every_dashboard
def test_victoriametrics_has_the_change_marks(victoria: Asked, dashboard: Json) -> None:
    for annotation in dashboard["annotations"]["list"]:
        case = Case(dashboard["uid"], annotation["name"], annotation["expr"], instant=False)
        assert awaited(victoria, case), str(case)


def test_a_server_without_a_past_or_a_change_keeps_its_row_and_name(victoria: Asked) -> None:
    """VictoriaMetrics drops NaN, so nothing may stand for "none" but a number."""
    at = victoria.stack.wait(f"sum(ase_up) == {len(SERVERS)}", timeout=240, behind=SETTLED)
    for metric in ("offset 1w", "ase:change_last"):
        (case,) = (case for case in queries(FLEET) if metric in case.expr)
        found = ask(replace(victoria, at=at), case)
        assert {series["metric"]["instance"] for series in found} == set(SERVERS), case
