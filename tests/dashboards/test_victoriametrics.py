"""Every query of every dashboard in VictoriaMetrics, over the recordings of recorded.py and rules by vmalert."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from dashboards.fleet import FLEET
from dashboards.queries import Json
from tests import needs
from tests.dashboards.cases import (
    OF_ONE_SERVER,
    Case,
    annotations,
    chosen,
    every_dashboard,
    listed,
    queries,
    unexplained,
)
from tests.dashboards.recorded import END, INTERVAL, SERVERS, WINDOW, adapted_rules, recordings
from tests.dashboards.test_queries import MOMENTS, SHOWN
from tests.e2e.simulated_time import Recording
from tests.ports import HOST, free_block
from tests.programs import START, answers, eventually, running, said_by

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(1800), needs.VICTORIA_METRICS]

# Rules that read each other: spins, grabs, contention, its median, that before a change, an alert, alerts by server.
LONGEST_CHAIN = 7


@dataclass(frozen=True)
class Store:
    """A VictoriaMetrics. start: Unix time of the first second of the recordings."""

    client: httpx2.Client
    start: float

    def result(self, case: Case, second: int, servers: str = ".+") -> list[Any]:
        """The series of a case at a second of the recordings; an error fails the test."""
        asked = {"query": chosen(case.expr, servers, WINDOW), "time": f"{self.start + second:.3f}"}
        answer = self.client.get("/api/v1/query", params=asked).json()
        assert answer["status"] == "success", f"{case}: {answer.get('error')}"
        result: list[Any] = answer["data"]["result"]
        return result


def exported(instance: str, job: str, recording: Recording, start: float) -> Iterator[str]:
    """The recording as VictoriaMetrics imports it."""
    for (name, labels, values), samples in recording.series.items():
        shift = start if name.endswith("_timestamp_seconds") else 0.0
        seen = {number: value + shift for number, value in enumerate(samples) if value is not None}
        first = start + recording.interval - recording.lag
        metric = {
            "__name__": name,
            "job": job,
            "instance": instance,
            **dict(zip(labels, values, strict=True)),
        }
        times = [round(1000 * (first + number * recording.interval)) for number in seen]
        yield json.dumps({"metric": metric, "values": [*seen.values()], "timestamps": times})


def replay_rules(directory: Path, store: httpx2.Client, start: float) -> None:
    """Evaluate the rules over the recordings, once for each rule on the way from a sample to a dashboard."""
    span = [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (start, start + END)]
    adapted_rules(directory)
    command = ["vmalert", f"-rule={directory}/rules/*.yaml", f"-evaluationInterval={INTERVAL}s"]
    command += [f"-datasource.url={store.base_url}", f"-remoteWrite.url={store.base_url}"]
    command += [f"-replay.timeFrom={span[0]}", f"-replay.timeTo={span[1]}", "-replay.rulesDelay=0s"]
    for _ in range(LONGEST_CHAIN):
        said_by(*command)
        # What was written is seen from now on.
        store.get("/internal/force_flush").raise_for_status()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    directory = tmp_path_factory.mktemp("victoria")
    address = f"{HOST}:{free_block(1)}"
    url = f"http://{address}"
    options = [f"-storageDataPath={directory / 'data'}", f"-httpListenAddr={address}"]
    # Rules are evaluated several times: of equal samples one is kept, and no answer is remembered.
    options += ["-dedup.minScrapeInterval=1ms", "-search.disableCache"]
    # The store hides the last seconds.
    start = time.time() // INTERVAL * INTERVAL - END - INTERVAL
    with (
        running(directory / "store.log", "victoria-metrics", *options),
        httpx2.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        eventually("VictoriaMetrics answers", partial(answers, f"{url}/health"), START)
        for instance, job, recording in recordings(directory):
            lines = "\n".join(exported(instance, job, recording, start))
            client.post("/api/v1/import", content=lines.encode()).raise_for_status()
        client.get("/internal/force_flush").raise_for_status()
        replay_rules(directory, client, start)
        yield Store(client, start)


@every_dashboard
def test_victoriametrics_answers_what_prometheus_answers(store: Store, dashboard: Json) -> None:
    servers = OF_ONE_SERVER.get(dashboard["uid"], ".+")

    def has_data(case: Case) -> bool:
        return any(store.result(case, second, servers) for second in SHOWN)

    assert unexplained(dashboard, has_data, listed("not_replayed"))[0] == []


@every_dashboard
def test_victoriametrics_has_the_change_marks(store: Store, dashboard: Json) -> None:
    for case in annotations(dashboard):
        assert any(store.result(case, second) for second in MOMENTS), str(case)


def test_a_server_without_history_or_changes_keeps_its_row(store: Store) -> None:
    """VictoriaMetrics drops NaN, so a missing value must be a number."""
    for metric in ("offset 1w", "topk by (job, instance) (1, ase:changes"):
        (case,) = (case for case in queries(FLEET) if metric in case.expr)
        assert {series["metric"]["instance"] for series in store.result(case, END)} == SERVERS.keys(), case
