"""Endpoints that change something: off unless enabled, closed to other web sites, with few effects when repeated."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.testclient import TestClient
from tests.exporter.running_exporter import exporter
from tests.exporter.simulated import PASSWORD, Simulated

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.config import Auth, Config, Scrape, Target
from ase_exporter.web.app import ExporterApp, create_app
from ase_exporter.web.write_access import WriteAccess
from ase_exporter.workers.loading import Loaded
from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Message
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

pytestmark = pytest.mark.anyio
NUMBER = "0123456789abcdef"
REQUESTS = {
    "/-/reload": ("--web.enable-lifecycle", None),
    "/annotations": ("--web.enable-annotations", {"text": "deployment", "id": NUMBER}),
    f"/annotations/{NUMBER}/finish": ("--web.enable-annotations", {}),
}
OPTIONS = sorted({option for option, _ in REQUESTS.values()})


@pytest.mark.parametrize("enabled", [[], *([option] for option in OPTIONS), OPTIONS])
def test_an_endpoint_that_changes_something_is_off_unless_its_option_is_given(
    tmp_path: Path, enabled: list[str]
) -> None:
    with exporter(tmp_path, "{}", enabled) as running:
        for path, (option, body) in REQUESTS.items():
            answer = httpx2.post(running.url + path, json=body, trust_env=False, timeout=60)
            if option in enabled:
                assert answer.status_code in (200, 201), answer.text
            else:
                assert (answer.status_code, answer.text.count("\n")) == (403, 1)
                assert option in answer.text
    assert running.log.count("configuration loaded") == enabled.count("--web.enable-lifecycle")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    loaded = Loaded.of(Config())

    async def make() -> ExporterApp:
        return ExporterApp(lambda: loaded, loaded)

    access = WriteAccess(lifecycle=True, annotations=True)
    with TestClient(create_app(anyio.run(make), access)) as client:
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


async def test_reloads_that_come_at_once_are_two_at_most_and_the_last_one_reads_the_last_file() -> None:
    loaded = Loaded.of(Config())
    begun, going = threading.Event(), threading.Event()
    loads: list[None] = []

    def load() -> Loaded:
        loads.append(None)
        begun.set()
        assert going.wait(60)
        return loaded

    app = ExporterApp(load, loaded)
    await app.start()
    first = asyncio.create_task(app.reload())
    await asyncio.to_thread(begun.wait, 60)
    others = [asyncio.create_task(app.reload()) for _ in range(40)]
    await asyncio.sleep(0)
    assert len(loads) == 1
    going.set()
    await asyncio.gather(first, *others)
    assert len(loads) == 2
    await app.reload()
    assert len(loads) == 3
    await app.stop()


@pytest.fixture
def logins(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The logins that the server was asked for, as they come."""
    logins: list[object] = []
    login = SqlBackend.login

    def noting(backend: SqlBackend, request: LoginRequest) -> SqlSession | Message:
        logins.append(request)
        return login(backend, request)

    monkeypatch.setattr(SqlBackend, "login", noting)
    return logins


def refused(server: Simulated) -> Config:
    """One target, with a password that the server refuses."""
    host, port = server.address
    return Config(
        targets=(Target(name="ONE", host=host, port=port),),
        auth={"default": Auth(user="monitor", password="wrong")},
        scrape=Scrape(timeout=60.0, connect_timeout=60.0, budget=None),
        workers=1,
    )


async def test_reloads_do_not_get_a_login_locked(server: Simulated, logins: list[object]) -> None:
    configuration = refused(server)
    current = Loaded.of(configuration)
    app = ExporterApp(lambda: current, current)
    await app.start()

    async def scrape(name: str) -> bool:
        return (await app.pool.scrape(name, time.monotonic() + 60)).summary.up

    for _ in range(6):
        assert not await scrape("ONE")
        await app.reload()
    # The same server and login by another name.
    alias = replace(configuration.targets[0], name="ALIAS")
    current = Loaded.of(replace(configuration, targets=(alias,)))
    await app.reload()
    assert not await scrape("ALIAS")
    assert 1 <= len(logins) <= LOGIN_ATTEMPTS
    # Another password of that login is tried at once.
    current = Loaded.of(replace(configuration, auth={"default": Auth(user="monitor", password=PASSWORD)}))
    await app.reload()
    assert await scrape("ONE")
    await app.stop()
