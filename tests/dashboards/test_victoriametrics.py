"""Runs every query of every dashboard against VictoriaMetrics, in real time, with rules evaluated by vmalert."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
from dashboards.fleet import FLEET
from dashboards.queries import Json
from tests import needs
from tests.dashboards import machine
from tests.dashboards.cases import (
    DASHBOARDS,
    OF_ONE_SERVER,
    Case,
    annotations,
    chosen,
    every_dashboard,
    listed,
    queries,
    unexplained,
)
from tests.dashboards.filled import PACE, SERVERS, Filled, filled

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    needs.VICTORIA_METRICS,
]

WINDOW = 4 * PACE.scrape_interval
# After this time no earlier scrape is still running, and the rules have evaluated it.
SETTLED = 3 * PACE.scrape_interval
# On a busy machine most scrapes may fail, so that a shorter window holds less than two: as if scrapes were rarer.
BUSY_WINDOW = 60.0
TIMEOUT = 120.0
# How many scrape intervals before the snapshot a query may find what a scrape missed then.
EARLIER = 10

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
        f"(sum(ase_up) == {len(SERVERS)})",
    ]
)


@dataclass(frozen=True)
class Snapshot:
    """A filled store, the time to query it at, when all servers had answered, and the window of rates."""

    stack: Filled
    at: float
    window: float = WINDOW
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=60, trust_env=False))

    def earlier(self) -> Iterator["Snapshot"]:
        """The moments before, as seen with a wide window: on a busy machine a scrape may miss a table."""
        for number in range(EARLIER):
            yield replace(self, at=self.at - number * PACE.scrape_interval, window=BUSY_WINDOW)

    def result(self, case: Case, servers: str = ".+") -> list[Any]:
        """The series of the result; an error fails the test."""
        expr = chosen(case.expr, servers, self.window)
        if case.instant:
            path, parameters = "query", {"query": expr, "time": f"{self.at:.3f}"}
        else:
            path = "query_range"
            parameters = {"query": expr, "start": f"{self.at - 60:.3f}", "end": f"{self.at:.3f}", "step": "2"}
        answer = self.client.get(f"{self.stack.url}/api/v1/{path}", params=parameters).json()
        assert answer["status"] == "success", f"{case}: {answer.get('error')}"
        result: list[Any] = answer["data"]["result"]
        return result

    def missing(self, dashboard: Json) -> set[str]:
        """Queries without data or an explanation, now and shortly before."""

        def lacking(seen: Snapshot) -> set[str]:
            servers = OF_ONE_SERVER.get(dashboard["uid"], ".+")
            return set(
                unexplained(dashboard, lambda case: bool(seen.result(case, servers)), listed("maybe_empty"))[
                    0
                ]
            )

        found = lacking(self)
        for earlier in self.earlier():
            if found:
                found &= lacking(earlier)
        return found


@pytest.fixture(scope="module")
def victoria(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with filled(tmp_path_factory.mktemp("victoria")) as stack:
        stack.wait("count(dbhost:tlb_misses:ratio_rate1m) and on () count(ase_up == 1)", timeout=120)
        machine.after(stack.root)
        found = complete(stack)
        stack.freeze("ase-simulator", "ase-exporter", "vmalert")
        yield found


def complete(stack: Filled) -> Snapshot:
    """The first moment at which no panel lacks data, or the last that was looked at: medians take a while."""
    deadline = time.monotonic() + TIMEOUT
    order = list(DASHBOARDS)
    while True:
        found = Snapshot(stack, stack.wait(READY, timeout=240, behind=SETTLED))
        lacking = next((each for each in order if found.missing(each)), None)
        if time.monotonic() > deadline or lacking is None:
            return found
        # All queries take seconds of CPU: what lacks data is asked first the next time.
        order.sort(key=lambda each: each is not lacking)
        # Nothing is new before the next scrape.
        time.sleep(PACE.scrape_interval)


@every_dashboard
def test_victoriametrics_answers_what_prometheus_answers(victoria: Snapshot, dashboard: Json) -> None:
    assert victoria.missing(dashboard) == set()


@every_dashboard
def test_victoriametrics_has_the_change_marks(victoria: Snapshot, dashboard: Json) -> None:
    for case in annotations(dashboard):
        assert any(each.result(case) for each in (victoria, *victoria.earlier())), str(case)


def test_a_server_without_history_or_changes_keeps_its_row(victoria: Snapshot) -> None:
    """VictoriaMetrics drops NaN, so a missing value must be a number."""
    for metric in ("offset 1w", "ase:change_last"):
        (case,) = (case for case in queries(FLEET) if metric in case.expr)
        assert {series["metric"]["instance"] for series in victoria.result(case)} == set(SERVERS), case
