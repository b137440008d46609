"""Runs every query of every dashboard but Change impact (test_change_impact.py) over recordings, by promtool."""

import re
from collections.abc import Iterable, Iterator

import pytest
from dashboards.queries import Json
from tests.dashboards.cases import (
    DASHBOARDS,
    EMPTY,
    OF_ONE_SERVER,
    Case,
    annotations,
    chosen,
    every_dashboard,
    queries,
    unexplained,
)
from tests.dashboards.recorded import END, INTERVAL, LARGEST, SMALL_PAGES, WINDOW, evaluated
from tests.e2e.evaluation import Query, Results
from tests.needs import needs_prometheus

pytestmark = [pytest.mark.e2e, needs_prometheus]

# Number of servers, and of series that a panel may read for all of them.
FLEET_SIZE, MAX_SERIES = 50, 1000
# The series that the rules record of a server with 128 engines.
RECORDED = f'count({{__name__=~"ase:.*",instance="{LARGEST}"}})', END
MAX_RECORDED = 100
# Seconds at which annotations may have data, and those of which a panel draws the series in one picture.
MOMENTS = range(INTERVAL, END + 1, INTERVAL)
DRAWN = MOMENTS[-3:]
# At the end, and while the machine still had small pages.
SHOWN = (END, SMALL_PAGES * INTERVAL)


def at(moments: Iterable[int], case: Case) -> list[Query]:
    """The case at these moments, for all servers or for the one that the dashboard shows best."""
    expr = chosen(case.expr, OF_ONE_SERVER.get(case.uid, ".+"), WINDOW)
    return [(expr, moment) for moment in moments]


def at_any_time(annotation: Case) -> list[Query]:
    """An annotation of all servers at all moments."""
    return [(chosen(annotation.expr, ".+", WINDOW), moment) for moment in MOMENTS]


def of_variable(dashboard: Json, variable: Json) -> Query:
    """What has a series for each value of a variable."""
    text = variable["query"]["query"]
    if labels := re.fullmatch(r"label_values\((.+), (\w+)\)", text):
        expr = f"count by ({labels[2]}) ({labels[1]})"
    else:
        expr = re.fullmatch(r"query_result\((.+)\)", text)[1]  # type: ignore[index]
    return at([END], Case(dashboard["uid"], variable["name"], expr, instant=True))[0]


def variables(dashboard: Json) -> list[Json]:
    return [each for each in dashboard["templating"]["list"] if each["type"] == "query"]


def drawn(case: Case) -> Iterator[Query]:
    """The case for the largest server, at the moments of a picture."""
    for moment in DRAWN:
        yield chosen(case.expr, OF_ONE_SERVER.get(case.uid, LARGEST), WINDOW), moment


def read(dashboard: Json, panel: Json) -> Iterator[Query]:
    """The maximum number of series that each selector of a panel matches on the largest server within a window."""
    exprs = " ".join(target["expr"] for target in panel.get("targets", []))
    for selector in sorted(set(re.findall(r"[a-zA-Z_:][\w:]*\{[^}]*\}", exprs))):
        counted = f"count({chosen(selector, OF_ONE_SERVER.get(dashboard['uid'], LARGEST), WINDOW)})"
        yield f"max_over_time({counted}[{WINDOW}s:{INTERVAL}s])", END


def asked() -> Iterator[Query]:
    """All that the tests ask."""
    yield RECORDED
    for dashboard in DASHBOARDS:
        for case in queries(dashboard):
            yield from at(SHOWN, case)
            yield from drawn(case)
        for annotation in annotations(dashboard):
            yield from at_any_time(annotation)
        for variable in variables(dashboard):
            yield of_variable(dashboard, variable)
        for panel in dashboard["panels"]:
            yield from read(dashboard, panel)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluated(tmp_path_factory.mktemp("dashboards"), asked())


@every_dashboard
def test_every_panel_has_data_or_an_explanation(found: Results, dashboard: Json) -> None:
    missing, filled = unexplained(dashboard, lambda case: any(found[query] for query in at(SHOWN, case)))
    assert missing == []
    assert not filled & EMPTY, "these have data: remove them from the list"


def test_the_rules_record_few_series_of_a_large_server(found: Results) -> None:
    (count,) = found[RECORDED]
    assert count.value <= MAX_RECORDED


@every_dashboard
def test_every_annotation_has_data(found: Results, dashboard: Json) -> None:
    for case in annotations(dashboard):
        assert any(found[query] for query in at_any_time(case)), str(case)


@every_dashboard
def test_every_variable_has_values(found: Results, dashboard: Json) -> None:
    for variable in variables(dashboard):
        assert found[of_variable(dashboard, variable)], variable["name"]


@every_dashboard
def test_no_panel_reads_over_1000_series_at_50_servers(found: Results, dashboard: Json) -> None:
    """The largest server counts for each of the fifty."""
    for panel in dashboard["panels"]:
        series = sum(sample.value for query in read(dashboard, panel) for sample in found[query])
        total = series * (1 if dashboard["uid"] in OF_ONE_SERVER else FLEET_SIZE)
        assert total <= MAX_SERIES, f"{dashboard['uid']}: {panel['title']}: {series:g} series a server"


def test_at_most_20_series_are_drawn(found: Results) -> None:
    crowded = []
    for dashboard in DASHBOARDS:
        for panel in (each for each in dashboard["panels"] if each["type"] == "timeseries"):
            series = {
                (case.expr, frozenset(sample.labels.items()))
                for case in queries(dashboard | {"panels": [panel]})
                for query in drawn(case)
                for sample in found[query]
            }
            if len(series) > 20:
                crowded.append((dashboard["uid"], panel["title"], len(series)))
    assert not crowded
