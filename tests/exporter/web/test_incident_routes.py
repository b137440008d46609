"""/incidents: what was kept, for whoever may see sessions."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.exporter.clocks import timezone
from tests.exporter.sessions.test_incidents import Server, diagnosis
from tests.exporter.web.test_session_routes import EVIL, RUNNING, SNAPSHOT

from ase_exporter.diagnosis.diagnose import unreachable
from ase_exporter.diagnosis.measures import NO_READINGS
from ase_exporter.sessions.incidents import FOLDER, Incidents
from ase_exporter.web.incident_routes import IncidentHandlers


@pytest.fixture
def exporter(tmp_path: Path) -> Any:
    """What handlers need of one."""
    return SimpleNamespace(keeper=Server().keeper(tmp_path))


@pytest.fixture
def client(exporter: Any) -> Iterator[TestClient]:
    handlers = IncidentHandlers(exporter)
    with TestClient(Starlette(routes=[Route("/incidents", handlers.show)])) as client:
        yield client


def test_without_incidents_there_is_no_page(client: TestClient, exporter: Any) -> None:
    exporter.keeper = None
    answer = client.get("/incidents")
    assert answer.status_code == 404 and "sessions.incidents is 0" in answer.text


def test_a_page_shows_one_without_text_of_statements(client: TestClient, tmp_path: Path) -> None:
    content = {"account": {"lock": 4.5}, "next": {"BLOCKED": ["end the head of the chain"]}}
    name = Incidents(tmp_path, 9).keep("ONE", EVIL, SNAPSHOT, content)
    page = client.get(f"/incidents?id={name}").text
    for shown in (
        "shop..stock",
        "40 -&gt; 900 reads each",
        "in sessions: locks 4.50.",
        "end the head",
        "12 min",
    ):
        assert shown in page
    assert EVIL not in page and RUNNING.text not in page and 'http-equiv="refresh"' not in page
    assert client.get(f"/incidents?id={name}&format=json").json()["target"] == "ONE"
    (tmp_path / FOLDER / f"{name}.json").write_text('{"active": 1}')
    for bad in (name, "../secret"):
        assert client.get(f"/incidents?id={bad}").status_code == 404


def test_something_bad_that_begins_is_kept_with_what_to_do(client: TestClient, exporter: Any) -> None:
    """What lasts is kept once, and what is not bad never."""
    keeper = exporter.keeper
    assert keeper and client.portal
    spins = diagnosis("spinning")
    for found in (diagnosis(), spins, spins, diagnosis()):
        client.portal.call(keeper.note, "ONE", found)
    client.portal.call(keeper.note, "TWO", unreachable(NO_READINGS, "refused"))
    client.portal.call(keeper.finished)
    (kept,) = client.get("/incidents?format=json").json()
    assert (kept["target"], kept["finding"]) == ("ONE", "SPINS")
    with timezone("Asia/Tokyo"):
        listed = client.get("/incidents").text
    at = datetime.fromisoformat(kept["time"]) + timedelta(hours=9)
    assert "At (JST)" in listed and f">{at:%Y-%m-%d %H:%M:%S}<" in listed
    assert f'href="incidents?id={kept["id"]}"' in listed and "2 lock, 1 cpu" in listed
    page = client.get(f"/incidents?id={kept['id']}").text
    assert "do not add engines" in page and "Where the time went, in sessions: " in page
