"""/changes as a page and as JSON; /annotations, with valid and invalid requests."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.exporter.web.test_enabled_endpoints import served

from ase_exporter.changes.store import Store, StoreError
from ase_exporter.config import Auth, Config, Target
from ase_exporter.web.write_access import WriteAccess

CONFIG = Config(
    targets=(Target(name="PROD", host="127.0.0.1"),), auth={"default": Auth(user="monitor", password="x")}
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with served(tmp_path, WriteAccess(annotations=True), lambda: CONFIG) as client:
        yield client


def test_a_repeated_annotation_is_stored_once(client: TestClient) -> None:
    assert "No changes found" in client.get("/changes").text
    body = {"id": "0123456789abcdef", "text": "ALTER", "target": "PROD", "tags": ["ddl"], "who": "jane"}
    assert client.post("/annotations", json=body).status_code == 201
    assert client.post("/annotations", json=body).json() == {"id": "0123456789abcdef"}
    (change,) = client.get("/changes?format=json").json()
    assert (change["name"], change["target"], change["tags"], change["who"]) == (
        "ALTER",
        "PROD",
        ["ddl"],
        "jane",
    )


def test_finishing_a_region_sets_its_end_and_failure(client: TestClient) -> None:
    number = client.post("/annotations", json={"text": "load"}).json()["id"]
    assert client.post(f"/annotations/{number}/finish", json={"failed": "exit code 3"}).status_code == 200
    (change,) = client.get("/changes?format=json").json()
    assert change["end"] >= change["at"] and change["failed"] and "exit code 3" in change["text"]
    assert client.post("/annotations/ffffffffffffffff/finish", json={}).status_code == 404


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "text: this key is missing"),
        ({"text": ""}, "text:"),
        ({"text": "x" * 2001}, "text:"),
        ({"text": "x", "target": "NOBODY"}, "target: NOBODY: no such target"),
        ({"text": "x", "id": "../../etc"}, "id:"),
        ({"text": "x", "tags": ["t"] * 21}, "tags:"),
        ({"text": "x", "colour": "red"}, "colour:"),
        ({"text": "x", "at": 5}, "at: expected a time within a day of now"),
        ({"text": "x", "at": time.time() * 1000}, "at: expected a time"),
    ],
)
def test_bad_annotations_are_rejected_in_one_line(
    client: TestClient, body: dict[str, object], expected: str
) -> None:
    response = client.post("/annotations", json=body)
    assert response.status_code == 400
    assert response.text.startswith(expected) and response.text.count("\n") == 1


def test_a_body_that_is_too_large_is_rejected(client: TestClient) -> None:
    response = client.post(
        "/annotations", content=b" " * 100_000, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 400 and "at most" in response.text


@pytest.mark.parametrize("query", ["since=soon", "until=99", "limit=0", "limit=x", "limit=1000000"])
def test_a_bad_filter_is_http_400_and_names_the_parameter(client: TestClient, query: str) -> None:
    response = client.get(f"/changes?format=json&{query}")
    assert response.status_code == 400 and response.text.startswith(query.partition("=")[0])


def test_a_failing_store_is_http_503(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StoreError("disk I/O error")

    monkeypatch.setattr(Store, "add", broken)
    monkeypatch.setattr(Store, "find", broken)
    assert client.post("/annotations", json={"text": "x"}).status_code == 503
    assert client.get("/changes").status_code == 503
