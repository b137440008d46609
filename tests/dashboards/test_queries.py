"""Runs every query of every dashboard but Change impact (test_change_impact.py) against real scrapes in Prometheus."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from dashboards import write
from dashboards.queries import Json
from dashboards.replication import REPLICATION
from tests.dashboards import machine
from tests.dashboards.filled import DETAILED, LARGEST, PACE, SERVERS, Filled, filled
from tests.dashboards.variables import substituted

from ase_exporter.assets import load_yaml
from ase_exporter.compare.prometheus import Sample

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WINDOW = 4 * PACE.scrape_interval
# After this time no earlier scrape is still running, and the rules have evaluated it.
SETTLED = 3 * PACE.scrape_interval
# On a busy machine most scrapes may fail, so that a shorter window holds less than two: as if scrapes were rarer.
BUSY_WINDOW = 60.0
TIMEOUT = 120.0
# How many scrape intervals before the snapshot a query may find what a scrape missed then.
EARLIER = 10
# Number of servers, and of series that a panel may read for all of them.
FLEET_SIZE, MAX_SERIES = 50, 1000

WITHOUT_DATA = load_yaml(Path(__file__).with_name("without_data.yaml").read_text(encoding="utf-8"))


def listed(key: str) -> set[tuple[str, str]]:
    """Panels of without_data.yaml, by uid and title."""
    return {(uid, title) for uid, titles in WITHOUT_DATA[key].items() for title in titles}


EMPTY, EMPTY_QUERIES = listed("empty"), listed("empty_queries")
MAYBE_EMPTY = listed("maybe_empty") | {("ase-replication", panel["title"]) for panel in REPLICATION["panels"]}


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
class Snapshot:
    """A filled Prometheus, the time to query it at, when all servers had answered, and the window of rates."""

    stack: Filled
    at: float
    window: float = WINDOW
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=60, trust_env=False))

    def query(self, expr: str) -> list[Sample]:
        return self.stack.prometheus.query(expr, self.at)

    def earlier(self) -> Iterator["Snapshot"]:
        """The moments before, as seen with a wide window: on a busy machine a scrape may miss a table."""
        for number in range(EARLIER):
            yield replace(self, at=self.at - number * PACE.scrape_interval, window=BUSY_WINDOW)


# Everything was seen within minutes, not at one time: on a busy machine every other scrape may fail.
READY = " and on () ".join(
    [
        f"(count(count_over_time(ase:cpu_busy:ratio_rate1m[5m])) == {len(SERVERS)})",
        f"(sum(max_over_time(ase_up[5m])) == {len(SERVERS)})",
        'count(count_over_time(ALERTS{alertstate="firing",job="ase"}[5m]))',
        "count(count_over_time(ase:sysmon_top_switches:per_second[5m]))",
        "count(count_over_time(dbhost_change_timestamp_seconds[5m]))",
        "count(count_over_time(dbhost:tlb_misses:median1d[5m]))",
        "count(count_over_time(ase_change_timestamp_seconds[5m]))",
        # Their collectors are read once a minute, and shown at every scrape: these have been read twice.
        *(
            f"count(increase({metric}[5m]) > 0)"
            for metric in (
                "ase_object_lock_requests_total",
                "ase_procedure_executions_total",
                "ase_statement_uses_total",
            )
        ),
    ]
)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with filled(tmp_path_factory.mktemp("dashboards")) as stack:
        stack.wait("count(dbhost:tlb_misses:ratio_rate1m) and on () count(ase_up == 1)", timeout=120)
        machine.after(stack.root)
        found = complete(stack, READY)
        stack.freeze("ase-simulator", "ase-exporter")
        yield found


def complete(stack: Filled, ready: str) -> Snapshot:
    """The first moment at which no panel lacks data, or the last that was looked at: medians take a while."""
    deadline = time.monotonic() + TIMEOUT
    order = list(DASHBOARDS)
    while True:
        found = Snapshot(stack, stack.wait(ready, timeout=240, behind=SETTLED))
        lacking = next((each for each in order if missing(found, each)), None)
        if time.monotonic() > deadline or lacking is None:
            return found
        # All queries take seconds of CPU: what lacks data is asked first the next time.
        order.sort(key=lambda each: each is not lacking)
        # Nothing is new before the next scrape.
        time.sleep(PACE.scrape_interval)


def queries(dashboard: Json) -> Iterator[Case]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield Case(dashboard["uid"], panel["title"], target["expr"], target["instant"])


def chosen(expr: str, servers: str, values: dict[str, str]) -> str:
    """The expression with variables replaced, as Grafana would send it."""
    return substituted(expr, {"__rate_interval": f"{WINDOW:g}s"} | values | selectors(servers))


def selectors(servers: str) -> dict[str, str]:
    return {"host_job": ".+", "host": ".+", "job": ".+", "instance": servers}


def run_query(snapshot: Snapshot, case: Case, servers: str = ".+") -> list[Any]:
    """Return the series of the result; an error fails the test."""
    expr = chosen(case.expr, servers, {"__rate_interval": f"{snapshot.window:g}s"})
    if case.instant:
        path, parameters = "query", {"query": expr, "time": f"{snapshot.at:.3f}"}
    else:
        path = "query_range"
        parameters = {
            "query": expr,
            "start": f"{snapshot.at - 60:.3f}",
            "end": f"{snapshot.at:.3f}",
            "step": "2",
        }
    answer = snapshot.client.get(f"{snapshot.stack.url}/api/v1/{path}", params=parameters).json()
    assert answer["status"] == "success", f"{case}: {answer.get('error')}"
    result: list[Any] = answer["data"]["result"]
    return result


def found_anywhere(snapshot: Snapshot, case: Case) -> bool:
    """Whether there are series at the snapshot or shortly before."""
    return any(run_query(each, case) for each in (snapshot, *snapshot.earlier()))


# Dashboards of one server, and the server that has most of what they show.
OF_ONE_SERVER = {"ase-details": DETAILED}


def servers(uid: str) -> str:
    return OF_ONE_SERVER.get(uid, ".+")


DASHBOARDS = [each for each in write.DASHBOARDS if each["uid"] != "ase-change"]
every_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: str(each["uid"]))


def unexplained(snapshot: Snapshot, dashboard: Json) -> tuple[list[str], set[tuple[str, str]]]:
    """Return queries without data or an explanation, and the panels (uid, title) that have data."""
    empty, filled_panels = [], set()
    for case in queries(dashboard):
        if run_query(snapshot, case, servers(case.uid)):
            filled_panels.add((case.uid, case.title))
        else:
            empty.append(case)
    explained = EMPTY | MAYBE_EMPTY | (EMPTY_QUERIES & filled_panels)
    return [str(case) for case in empty if (case.uid, case.title) not in explained], filled_panels


def missing(snapshot: Snapshot, dashboard: Json) -> set[str]:
    """Return queries without data or an explanation, at the snapshot and shortly before."""
    found = set(unexplained(snapshot, dashboard)[0])
    for earlier in snapshot.earlier():
        if found:
            found &= set(unexplained(earlier, dashboard)[0])
    return found


@every_dashboard
def test_every_panel_has_data_or_an_explanation(snapshot: Snapshot, dashboard: Json) -> None:
    assert missing(snapshot, dashboard) == set()
    assert not unexplained(snapshot, dashboard)[1] & EMPTY, "these have data: remove them from the list"


@every_dashboard
def test_every_annotation_has_data(snapshot: Snapshot, dashboard: Json) -> None:
    for annotation in dashboard["annotations"]["list"]:
        case = Case(dashboard["uid"], annotation["name"], annotation["expr"], instant=False)
        assert found_anywhere(snapshot, case), str(case)


@every_dashboard
def test_every_variable_has_values(snapshot: Snapshot, dashboard: Json) -> None:
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        text = variable["query"]["query"]
        if labels := re.fullmatch(r"label_values\((.+), (\w+)\)", text):
            expr = f"count by ({labels[2]}) ({labels[1]})"
        else:
            expr = re.fullmatch(r"query_result\((.+)\)", text)[1]  # type: ignore[index]
        case = Case(dashboard["uid"], variable["name"], expr, instant=True)
        assert found_anywhere(snapshot, case), str(case)


@every_dashboard
def test_no_panel_reads_over_1000_series_at_50_servers(snapshot: Snapshot, dashboard: Json) -> None:
    """The maximum count of matches of each selector within a minute on the largest server here, times 50."""
    for panel in dashboard["panels"]:
        selectors = {
            selector
            for target in panel.get("targets", [])
            for selector in re.findall(r"[a-zA-Z_:][\w:]*\{[^}]*\}", target["expr"])
        }
        read = 0.0
        for selector in selectors:
            server = OF_ONE_SERVER.get(dashboard["uid"], LARGEST)
            counted = f"count({chosen(selector, server, {})})"
            for series in snapshot.query(f"max_over_time({counted}[1m:2s])"):
                read += series.value
        total = read * (1 if dashboard["uid"] in OF_ONE_SERVER else FLEET_SIZE)
        assert total <= MAX_SERIES, f"{dashboard['uid']}: {panel['title']}: {read:g} series a server"


def test_at_most_20_series_are_drawn(snapshot: Snapshot) -> None:
    crowded = []
    for dashboard in DASHBOARDS:
        for panel in dashboard["panels"]:
            if panel["type"] != "timeseries":
                continue
            server = OF_ONE_SERVER.get(dashboard["uid"], LARGEST)
            drawn = sum(
                len(run_query(snapshot, case, server)) for case in queries(dashboard | {"panels": [panel]})
            )
            if drawn > 20:
                crowded.append((dashboard["uid"], panel["title"], drawn))
    assert not crowded
