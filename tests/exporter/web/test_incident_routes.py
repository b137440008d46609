"""/incidents: what was kept, for whoever may see sessions; a webhook asks for more within limits, with a login."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.exporter.diagnosis.states import generated
from tests.exporter.sessions.test_incidents import Server, at_once
from tests.exporter.web.test_session_routes import EVIL, RUNNING, SNAPSHOT

from ase_exporter.diagnosis.diagnose import diagnose, unreachable
from ase_exporter.diagnosis.measures import NO_READINGS
from ase_exporter.sessions.incidents import FOLDER, Incidents
from ase_exporter.web.incident_keeper import IncidentKeeper
from ase_exporter.web.incident_routes import IncidentHandlers
from ase_exporter.web.write_access import ANNOTATING, protected


@dataclass
class Exporter:
    """One with two targets."""

    keeper: IncidentKeeper | None
    has_users: bool = True

    def names(self) -> list[str]:
        return ["ONE", "TWO"]


@pytest.fixture
def exporter(tmp_path: Path) -> Exporter:
    server = Server()
    return Exporter(
        IncidentKeeper(lambda: Incidents(tmp_path, 9), server.sessions, server.annotate, sleep=at_once)
    )


@pytest.fixture
def client(exporter: Exporter) -> Iterator[TestClient]:
    handlers = IncidentHandlers(exporter)  # type: ignore[arg-type]
    ask = protected(handlers.ask, enabled=True, when_off=ANNOTATING)
    routes = [Route("/incidents", handlers.show), Route("/incidents", ask, methods=["POST"])]
    with TestClient(Starlette(routes=routes)) as client:
        yield client


def alert(instance: str, name: str = "AseBlocked", status: str = "firing") -> dict[str, object]:
    """An alert of a notification, as Alertmanager 0.25 sends it."""
    labels = {"alertname": name, "instance": instance, "severity": "critical"}
    return {"status": status, "labels": labels, "annotations": {}, "startsAt": "2026-11-25T08:00:00Z"}


def test_a_webhook_has_one_incident_kept_of_each_server_that_alerts(
    client: TestClient, exporter: Exporter
) -> None:
    alerts = [
        alert("ONE"),
        alert("ONE", "AseLogSemaphore"),
        alert("TWO", status="resolved"),
        alert("ELSEWHERE"),
    ]
    body = {"version": "4", "status": "firing", "receiver": "incidents", "alerts": alerts}
    answer = client.post("/incidents", json=body)
    assert (answer.status_code, answer.json()) == (202, {"begun": ["ONE"]})
    assert client.post("/incidents", json=body).json() == {"begun": []}
    assert exporter.keeper and client.portal
    client.portal.call(exporter.keeper.finished)
    (found,) = client.get("/incidents?format=json").json()
    assert (found["target"], found["finding"], found["active"]) == (
        "ONE",
        "AseBlocked",
        {"lock": 2, "cpu": 1},
    )
    page = client.get("/incidents")
    assert f'href="incidents?id={found["id"]}"' in page.text and "2 lock, 1 cpu" in page.text


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("", 400),
        ("[" * 100_000, 400),
        ("[]", 400),
        ('{"alerts": [{"status": "firing", "labels": {"instance": 1}}]}', 400),
        (json.dumps({"alerts": [alert("ONE")], "padding": "x" * 70_000}), 400),
        (json.dumps({"alerts": [alert("\x1b[31m\n")]}), 202),
    ],
)
def test_what_a_webhook_may_not_send_costs_one_line(client: TestClient, content: str, status: int) -> None:
    answer = client.post("/incidents", content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.text.count("\n")) == (status, status == 400), answer.text


def test_it_takes_a_login_and_incidents_that_are_kept(client: TestClient, exporter: Exporter) -> None:
    exporter.has_users = False
    refused = client.post("/incidents", json={"alerts": [alert("ONE")]})
    assert refused.status_code == 403 and "basic_auth_users" in refused.text
    exporter.keeper = None
    for answer in (client.get("/incidents"), client.post("/incidents", json={"alerts": []})):
        assert answer.status_code == 404 and "sessions.incidents is 0" in answer.text


def test_a_page_shows_one_without_text_of_statements(client: TestClient, tmp_path: Path) -> None:
    content = {"account": {"lock": 4.5}, "next": {"BLOCKED": ["end the head of the chain"]}}
    name = Incidents(tmp_path, 9).keep("ONE", EVIL, SNAPSHOT, content)
    page = client.get(f"/incidents?id={name}").text
    for shown in ("shop..stock", "40 -&gt; 900 reads each", "lock 4.5 s/s", "end the head", "12 min"):
        assert shown in page
    assert EVIL not in page and RUNNING.text not in page and 'http-equiv="refresh"' not in page
    assert client.get(f"/incidents?id={name}&format=json").json()["target"] == "ONE"
    (tmp_path / FOLDER / f"{name}.json").write_text('{"active": 1}')
    for bad in (name, "../secret"):
        assert client.get(f"/incidents?id={bad}").status_code == 404


def test_something_bad_that_begins_is_kept_with_what_to_do(client: TestClient, exporter: Exporter) -> None:
    """No Prometheus asks for it. What lasts is kept once, and what is not bad never."""
    seeds = map(generated, range(200))
    spins = next(
        found for found in map(diagnose, seeds) if found.state == "spinning" and found.level == "bad"
    )
    well = next(found for found in map(diagnose, map(generated, range(200))) if found.level == "good")
    keeper = exporter.keeper
    assert keeper and client.portal
    for found in (well, spins, spins, well):
        client.portal.call(keeper.note, "ONE", found)
    client.portal.call(keeper.note, "TWO", unreachable(NO_READINGS, "refused"))
    client.portal.call(keeper.finished)
    (kept,) = client.get("/incidents?format=json").json()
    assert (kept["target"], kept["finding"]) == ("ONE", "SPINS")
    page = client.get(f"/incidents?id={kept['id']}").text
    assert "do not add engines" in page and "Time account: " in page
