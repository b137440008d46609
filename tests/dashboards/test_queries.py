"""Every query of every dashboard, asked of a Prometheus that real scrapes have filled."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from dashboards import write
from dashboards.change import CHANGE_IMPACT
from dashboards.queries import Json
from tests.dashboards import machine
from tests.dashboards.filled import LARGEST, PACE, SERVERS, Filled, filled

from ase_exporter.prometheus import Sample

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WINDOW = 4 * PACE.scrape_interval
# After so long no scrape that began before is under way, and the rules have seen it.
SETTLED = 3 * PACE.scrape_interval
PATIENCE = 60.0
# Servers, and what a panel may read of them all.
FLEET_SIZE, MOST_SERIES = 50, 1000

# Panels without data here: uid, title, why.
EMPTY = {
    ("ase-change", "What the exporter itself found of these changes, at the same load and beyond chance"): (
        "verdicts are opt-in and want longer windows than a test has"
    ),
    ("ase-exporter", "Series cut off (good: 0)"): "no server here has more series than the limit",
    ("ase-exporter", "Read less often, to keep the budget (good: none)"): "no server here has a budget",
    ("ase-hugepages", "Not counted here, and why (good: empty)"): "the machine has everything",
    (
        "ase-storage",
        "Age of the last full dump (good: under a day and a half)",
    ): "nobody dumps the simulated databases",
}
# Panels that have data only where the machine is too busy for a scrape.
EMPTY_OR_NOT = {("ase-exporter", "Failing, and why (good: empty)")}
# Single queries of panels whose others have data.
EMPTY_QUERIES = {
    (
        "ase-change",
        "Reads from disk per transaction (good: down)",
    ): "none before: there is no share of nothing",
    ("ase-change", "Deadlocks per second (good: down)"): "none before: there is no share of nothing",
}


@dataclass(frozen=True)
class Case:
    """One query of a panel, an annotation or a variable."""

    uid: str
    title: str
    expr: str
    instant: bool

    def __str__(self) -> str:
        return f"{self.uid}: {self.title}: {self.expr}"


@dataclass(frozen=True)
class Asked:
    """A filled Prometheus, and the moment at which everything is asked: all servers had answered."""

    stack: Filled
    at: float
    change: float

    def query(self, expr: str) -> list[Sample]:
        return self.stack.prometheus.query(expr, self.at)


CHANGES = f'last_over_time(ase_change_timestamp_seconds{{instance="{LARGEST}"}}[5m])'
# All was seen lately, if not at the same moment: on a busy machine every other scrape comes to nothing.
READY = " and on () ".join(
    [
        f"(count(count_over_time(ase:cpu_busy:ratio_rate1m[5m])) == {len(SERVERS)})",
        f"(sum(max_over_time(ase_up[5m])) == {len(SERVERS)})",
        'count(count_over_time(ALERTS{alertstate="firing",job="ase"}[5m]))',
        "count(count_over_time(ase:sysmon_top_switches:per_second[5m]))",
        "count(count_over_time(dbhost_change_timestamp_seconds[5m]))",
        "count(count_over_time(dbhost:tlb_misses:median1d[5m]))",
        f"(time() - min({CHANGES}) > {WINDOW + 2 * PACE.scrape_interval})",
    ]
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with filled(tmp_path_factory.mktemp("dashboards")) as stack:
        stack.wait("count(dbhost:tlb_misses:ratio_rate1m) and on () count(ase_up == 1)", timeout=120)
        machine.after(stack.root)
        yield settled(stack, timeout=240)


def settled(stack: Filled, timeout: float) -> Asked:
    """When all servers have answered and a change was measured on both sides (on a busy machine a scrape may miss
    a table); where none was in time, the last change, for the tests to say what is missing."""
    deadline = time.monotonic() + timeout
    while True:
        at = stack.wait(READY, timeout, behind=SETTLED)
        over = f"{CHANGES} < {at - WINDOW:.3f}"
        for change in sorted({made.value for made in stack.prometheus.query(over, at)}):
            asked = Asked(stack, at, change)
            if not unexplained(asked, CHANGE_IMPACT)[0]:
                return asked
        if time.monotonic() > deadline:
            return asked
        time.sleep(1)


def queries(dashboard: Json) -> Iterator[Case]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield Case(dashboard["uid"], panel["title"], target["expr"], target["instant"])


def chosen(expr: str, servers: str, change: float) -> str:
    """The expression as Grafana would send it."""
    values = {
        "__rate_interval": f"{WINDOW:g}s",
        "window": f"{round(WINDOW)}s",
        "settle": "1s",
        "change": f"{change:.3f}",
        "host_job": ".+",
        "host": ".+",
        "job": ".+",
        "instance": servers,
    }
    return re.sub(r"\$(\w+)", lambda match: values.get(match[1], match[0]), expr)


def ask(asked: Asked, case: Case, servers: str = ".+") -> list[Any]:
    """The series that Prometheus answers with; its error fails the test."""
    expr = chosen(case.expr, servers, asked.change)
    if case.instant:
        path, parameters = "query", {"query": expr, "time": f"{asked.at:.3f}"}
    else:
        path = "query_range"
        parameters = {"query": expr, "start": f"{asked.at - 60:.3f}", "end": f"{asked.at:.3f}", "step": "2"}
    url = f"{asked.stack.url}/api/v1/{path}"
    answer = httpx.get(url, params=parameters, timeout=60, trust_env=False).json()
    assert answer["status"] == "success", f"{case}: {answer.get('error')}"
    result: list[Any] = answer["data"]["result"]
    return result


def awaited(asked: Asked, case: Case, servers: str = ".+") -> list[Any]:
    """The series as soon as there are some: on a busy machine a scrape may have come to nothing just then."""
    deadline = time.monotonic() + PATIENCE
    while not (found := ask(asked, case, servers)) and time.monotonic() < deadline:
        time.sleep(0.5)
        asked = replace(asked, at=time.time())
    return found


def servers(uid: str) -> str:
    return LARGEST if uid == "ase-change" else ".+"


every_dashboard = pytest.mark.parametrize("dashboard", write.DASHBOARDS, ids=lambda each: str(each["uid"]))


def unexplained(asked: Asked, dashboard: Json) -> tuple[list[str], set[tuple[str, str]]]:
    """Queries without data nor a reason to have none; and the panels (uid, title) that have data."""
    empty, filled_panels = [], set()
    for case in queries(dashboard):
        if ask(asked, case, servers(case.uid)):
            filled_panels.add((case.uid, case.title))
        else:
            empty.append(case)
    explained = EMPTY.keys() | EMPTY_OR_NOT | (EMPTY_QUERIES.keys() & filled_panels)
    return [str(case) for case in empty if (case.uid, case.title) not in explained], filled_panels


def missing(asked: Asked, dashboard: Json) -> set[str]:
    """Queries that stay without data nor a reason to have none: on a busy machine a scrape may miss a table."""
    found, deadline = set(unexplained(asked, dashboard)[0]), time.monotonic() + PATIENCE
    while found and time.monotonic() < deadline:
        time.sleep(0.5)
        found &= set(unexplained(replace(asked, at=time.time()), dashboard)[0])
    return found


@every_dashboard
def test_every_panel_has_data_or_a_reason_to_have_none(asked: Asked, dashboard: Json) -> None:
    assert missing(asked, dashboard) == set()
    assert not unexplained(asked, dashboard)[1] & EMPTY.keys(), "these have data: take them off the list"


def test_a_difference_is_what_it_was_after_less_what_it_was_before(asked: Asked) -> None:
    seen = 0
    for panel in CHANGE_IMPACT["panels"]:
        if panel["type"] != "table" or len(panel.get("targets", [])) != 3:
            continue
        before, after, difference = (
            {
                tuple(series["metric"].items()): float(series["value"][1])
                for series in ask(asked, case, LARGEST)
            }
            for case in queries(CHANGE_IMPACT | {"panels": [panel]})
        )
        assert before.keys() == after.keys() == difference.keys()
        measured = [row for row in before if before[row] > -9 and after[row] > -9]
        seen += len(measured)
        for row in measured:
            assert difference[row] == pytest.approx(after[row] - before[row]), (panel["title"], row)
    assert seen


@every_dashboard
def test_every_annotation_has_data(asked: Asked, dashboard: Json) -> None:
    for annotation in dashboard["annotations"]["list"]:
        case = Case(dashboard["uid"], annotation["name"], annotation["expr"], instant=False)
        assert awaited(asked, case), str(case)


@every_dashboard
def test_every_variable_has_values(asked: Asked, dashboard: Json) -> None:
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        text = variable["query"]["query"]
        if labels := re.fullmatch(r"label_values\((.+), (\w+)\)", text):
            expr = f"count by ({labels[2]}) ({labels[1]})"
        else:
            expr = re.fullmatch(r"query_result\((.+)\)", text)[1]  # type: ignore[index]
        case = Case(dashboard["uid"], variable["name"], expr, instant=True)
        found = awaited(asked, case)
        assert found, str(case)
        if pattern := variable.get("regex"):
            assert [choice(pattern, series) for series in found]


def choice(pattern: str, series: Json) -> tuple[str, float]:
    """Text and value that Grafana's variable takes from one series of query_result."""
    labels = ",".join(f'{name}="{value}"' for name, value in series["metric"].items() if name != "__name__")
    line = f"{series['metric'].get('__name__', '')}{{{labels}}} {series['value'][1]} {int(series['value'][0] * 1000)}"
    found = re.search(pattern.strip("/").replace("(?<", "(?P<"), line)
    assert found, line
    return found["text"], float(found["value"])


@every_dashboard
def test_no_panel_reads_over_1000_series_at_50_servers(asked: Asked, dashboard: Json) -> None:
    """By counting what each selector matches on the largest server here, at most within a minute, times 50."""
    one_server_at_a_time = dashboard["uid"] == "ase-change"
    for panel in dashboard["panels"]:
        selectors = {
            selector
            for target in panel.get("targets", [])
            for selector in re.findall(r"[a-zA-Z_:][\w:]*\{[^}]*\}", target["expr"])
        }
        read = 0.0
        for selector in selectors:
            for series in asked.query(f"max_over_time(count({chosen(selector, LARGEST, 0)})[1m:2s])"):
                read += series.value
        total = read * (1 if one_server_at_a_time else FLEET_SIZE)
        assert total <= MOST_SERIES, f"{dashboard['uid']}: {panel['title']}: {read:g} series a server"


def test_at_most_20_series_are_drawn(asked: Asked) -> None:
    crowded = []
    for dashboard in write.DASHBOARDS:
        for panel in dashboard["panels"]:
            if panel["type"] != "timeseries":
                continue
            drawn = sum(len(ask(asked, case, LARGEST)) for case in queries(dashboard | {"panels": [panel]}))
            if drawn > 20:
                crowded.append((dashboard["uid"], panel["title"], drawn))
    assert not crowded
