"""Endpoints that change something: off unless enabled, closed to other web sites."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from starlette.testclient import TestClient

from ase_exporter.config import Config
from ase_exporter.web.app import ExporterApp, create_app
from ase_exporter.web.loading import Loaded
from ase_exporter.web.write_access import WriteAccess

NUMBER = "0123456789abcdef"
REQUESTS = {
    "/-/reload": ("--web.enable-lifecycle", None),
    "/annotations": ("--web.enable-annotations", {"text": "deployment", "id": NUMBER}),
    f"/annotations/{NUMBER}/finish": ("--web.enable-annotations", {}),
}


@contextmanager
def served(directory: Path, access: WriteAccess, load: Callable[[], Config] = Config) -> Iterator[TestClient]:
    """An exporter, without targets if the test does not say which. load: at each reload, too."""

    async def make() -> ExporterApp:
        return ExporterApp(lambda: Loaded.of(load()), Loaded.of(load()), directory)

    with TestClient(create_app(anyio.run(make), access)) as client:
        yield client


@pytest.mark.parametrize(
    ("enabled", "access"),
    [
        ("--web.enable-lifecycle", WriteAccess(lifecycle=True)),
        ("--web.enable-annotations", WriteAccess(annotations=True)),
    ],
)
def test_an_endpoint_that_changes_something_is_off_unless_its_option_is_given(
    tmp_path: Path, enabled: str, access: WriteAccess
) -> None:
    with served(tmp_path, access) as client:
        for path, (option, body) in REQUESTS.items():
            answer = client.post(path, json=body)
            if option == enabled:
                assert answer.status_code in (200, 201), answer.text
            else:
                assert (answer.status_code, answer.text.count("\n")) == (403, 1)
                assert option in answer.text


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("state"), WriteAccess(lifecycle=True, annotations=True)) as client:
        yield client


@pytest.mark.parametrize("path", REQUESTS)
@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        # A page of the exporter itself, and a proxy that ends TLS in front of it.
        ({"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "https://testserver"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://testserver.evil.example"}, False),
        ({"Origin": "http://testserver:8080"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": ""}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Content-Type": "application/x-www-form-urlencoded"}, False),
        ({"Content-Type": "multipart/form-data; boundary=x"}, False),
        ({"Content-Type": "text/plain"}, False),
    ],
)
def test_a_page_of_another_origin_changes_nothing(
    client: TestClient, path: str, headers: dict[str, str], accepted: bool
) -> None:
    client.post("/annotations", json={"text": "there", "id": NUMBER})
    _, body = REQUESTS[path]
    content = json.dumps(body or {})
    answer = client.post(path, content=content, headers={"Content-Type": "application/json"} | headers)
    assert (answer.status_code in (200, 201)) == accepted, answer.text
    if not accepted:
        assert answer.status_code in (400, 403)
