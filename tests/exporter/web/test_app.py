"""The HTTP application with targets that refuse connections."""

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.exporter.web.test_enabled_endpoints import served
from tests.planted import UNUSED

from ase_exporter import config
from ase_exporter.scraping.result import ScrapeSummary, TargetState
from ase_exporter.scraping.targets import Answer, Targets
from ase_exporter.web.app import TIMEOUT_HEADER
from ase_exporter.web.pages import landing_page
from ase_exporter.web.write_access import WriteAccess


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, closed_port: int) -> Path:
    path = tmp_path_factory.mktemp("config") / "exporter.yml"
    address = {"host": "127.0.0.1", "port": closed_port}
    targets = [{"name": "ONE", "labels": {"team": "billing"}} | address, {"name": "TWO"} | address]
    auth = {"default": {"user": "probe", "password": UNUSED}}
    settings = {"auth": auth, "targets": targets, "scrape": {"timeout": "60s"}, "host": {}}
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def client(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    state = tmp_path_factory.mktemp("state")
    with served(state, WriteAccess(lifecycle=True), lambda: config.load(file)) as client:
        yield client


def test_a_target_that_refuses_is_an_answer_not_an_error(client: TestClient) -> None:
    response = client.get("/probe?target=ONE")
    assert response.status_code == 200
    assert "\nase_up 0.0\n" in response.text
    assert 'ase_exporter_target_error{reason="refused"} 1.0' in response.text


def test_a_probe_is_compressed_if_the_caller_accepts_it(client: TestClient) -> None:
    with client.stream("GET", "/probe?target=ONE", headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert b"ase_up 0.0" in gzip.decompress(b"".join(response.iter_raw()))
    plain = client.get("/probe?target=ONE", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    ("query", "status"),
    [("target=127.0.0.1:22", 404), ("", 400), ("target=ONE&target=TWO", 400), ("target=ONE", 200)],
)
def test_only_configured_targets_are_probed(client: TestClient, query: str, status: int) -> None:
    assert client.get(f"/probe?{query}").status_code == status


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.3, 0.5, 10.0])
def test_a_caller_is_answered_before_its_timeout_though_a_scrape_hangs(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    waits: list[float] = []

    async def hang(*asked: Any) -> Answer:
        waits.append(asked[3] + asked[5] - time.monotonic())
        return Answer(b"", ScrapeSummary())

    monkeypatch.setattr(Targets, "scrape", hang)
    client.get("/probe?target=ONE", headers={TIMEOUT_HEADER: str(seconds)})
    assert len(waits) == 1 and waits[0] < seconds


def test_service_discovery_lists_targets_with_their_labels(client: TestClient) -> None:
    assert client.get("/targets").json() == [
        {"targets": ["ONE"], "labels": {"team": "billing", "__metrics_path__": "/probe"}},
        {"targets": ["TWO"], "labels": {"__metrics_path__": "/probe"}},
    ]


def test_the_metrics_page_has_the_exporter_and_the_host_but_no_targets(client: TestClient) -> None:
    text = client.get("/metrics").text
    assert "ase_exporter_targets 2.0" in text
    assert 'dbhost_collector_success{collector="hugepages"} 1.0' in text
    assert "ase_up" not in text


def test_a_bad_reload_keeps_the_old_configuration_and_says_so(client: TestClient, file: Path) -> None:
    good = file.read_text(encoding="utf-8")
    file.write_text("nonsense: true\n", encoding="utf-8")
    try:
        response = client.post("/-/reload")
        assert response.status_code == 500
        assert "exporter.yml:1: nonsense: unknown key" in response.text
        assert "ase_exporter_config_last_reload_successful 0.0" in client.get("/metrics").text
        assert client.get("/probe?target=TWO").status_code == 200
    finally:
        file.write_text(good, encoding="utf-8")
    assert client.post("/-/reload").status_code == 200
    assert "ase_exporter_config_last_reload_successful 1.0" in client.get("/metrics").text


def test_the_landing_page_names_each_target_and_its_state(client: TestClient) -> None:
    client.get("/probe?target=ONE")
    page = client.get("/").text
    assert 'href="server?target=ONE"' in page
    assert "refused the connection" in page
    of_one = client.get("/server?target=ONE").text
    assert "refused the connection" in of_one and 'href="probe?target=ONE"' in of_one


def test_what_is_no_page_says_where_the_pages_are(client: TestClient) -> None:
    for path in ("/server?target=THREE", "/server", "/nowhere"):
        answer = client.get(path)
        assert (
            answer.status_code == 404 and 'href="./"' in answer.text and "/probe?target=NAME" in answer.text
        )


def test_each_server_leads_to_its_changes_and_dashboard() -> None:
    summary = ScrapeSummary(up=True, series=7, unreadable=("spinlocks", "waits"))
    text = landing_page({"A/B": TargetState(summary, at=0.0)}, changed={"A/B": 2}, grafana="https://grafana")
    assert 'href="changes?target=A/B">2 recent changes<' in text
    assert 'href="https://grafana/d/ase-server?var-instance=A/B"' in text
    assert "spinlocks and 1 more cannot be read" in text


def test_health_and_readiness(client: TestClient) -> None:
    assert (client.get("/-/ready").text, client.get("/-/healthy").text) == ("ready\n", "healthy\n")


def test_what_is_wrong_with_each_target_is_on_the_page_and_in_json(client: TestClient) -> None:
    client.get("/probe?target=ONE")
    found = client.get("/diagnosis").json()
    assert found.keys() == {"ONE", "TWO"}
    assert (found["ONE"]["state"], found["ONE"]["word"], found["ONE"]["level"]) == ("down", "DOWN", "bad")
    assert found["ONE"]["causes"][0]["finding"] == "down" and found["ONE"]["at"].endswith("Z")
    one = client.get("/diagnosis?target=ONE").json()
    assert one == {"ONE": found["ONE"]}
    assert client.get("/diagnosis?target=THREE").status_code == 404
    assert client.get("/advice?target=ONE").json() is None
    assert client.get("/advice?target=ONE&format=text").json() == {"lines": [], "is_known": False}
    assert client.get("/advice?target=THREE").status_code == 404
    assert ">DOWN</span>" in client.get("/").text
