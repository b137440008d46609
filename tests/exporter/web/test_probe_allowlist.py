"""probe_allowlist: addresses that /probe accepts, their number, lifetime and credentials."""

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import PASSWORD, Simulated, reading
from tests.exporter.workers.test_pool import running, scrape
from tests.planted import IN_ADDRESS

from ase_exporter import config
from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.assets import load_yaml
from ase_exporter.config import Auth, Config, Target
from ase_exporter.errors import UserError
from ase_exporter.web import probe_targets
from ase_exporter.web.app import ExporterApp, create_app
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.pool import BusyError

pytestmark = pytest.mark.anyio
CASES: dict[str, Any] = load_yaml(Path(__file__).with_name("allowlist.yaml").read_text(encoding="utf-8"))
AUTH = {"default": Auth(user="monitor", password=PASSWORD), "wrong": Auth(user="monitor", password="wrong")}


def allowing(
    *entries: str | dict[str, object], auth: str = "default", max_targets: int = 100, idle: float = 600.0
) -> Config:
    """entries: patterns, with that login, or whole entries."""
    addresses = [{"address": each, "auth": auth} if isinstance(each, str) else each for each in entries]
    return TypeAdapter(Config).validate_python(
        {
            "probe_allowlist": {"addresses": addresses, "max_targets": max_targets, "idle_timeout": idle},
            "auth": AUTH,
            "modules": {"default": {"collectors": reading("state").collectors}},
            "changes": {"enabled": False},
            "workers": 1,
            "scrape": PATIENT,
        }
    )


# Answers of the tests' resolver.
ADDRESSES = {
    "db1.example.com": ["10.1.2.33"],
    "both.example.com": ["fd00::1", "192.0.2.1", "10.1.2.34"],
    "elsewhere.example.com": ["192.0.2.1"],
    "10.1.2.com": ["192.0.2.1"],
    "mapped.example.com": ["::ffff:10.1.2.33"],
}


class Resolver:
    """Answers from ADDRESSES. asked: the names, in order."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return ADDRESSES.get(host, [])


def find(configuration: Config, address: str, resolver: Resolver | None = None) -> Target | None:
    return asyncio.run(probe_targets.find_target(configuration, address, resolver or Resolver()))


@pytest.mark.parametrize("pattern", CASES["patterns"])
def test_an_address_is_allowed_when_the_whole_of_it_matches(pattern: str) -> None:
    addresses = CASES["patterns"][pattern]
    configuration = allowing(pattern)
    assert [each for each in addresses.get("allowed", []) if find(configuration, each) is None] == []
    assert [each for each in addresses["refused"] if find(configuration, each) is not None] == []


def test_the_first_matching_pattern_sets_the_credentials() -> None:
    special = {"address": "special:5000", "auth": "wrong", "encrypt_password": True}
    several = allowing(special, "*:5000")
    assert find(several, "Special:5000") == Target(
        name="special:5000", host="special", port=5000, auth="wrong", encrypt_password=True
    )
    assert find(several, "other:5000") == Target(name="other:5000", host="other", port=5000)


@pytest.mark.parametrize("pattern", ["10.1.2.*:5000", "10.1.2.0/24:5000"])
@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("db1.example.com", "10.1.2.33"),
        ("both.example.com", "10.1.2.34"),
        ("elsewhere.example.com", None),
        ("mapped.example.com", None),
        ("10.1.2.com", None),
        ("unknown.example.com", None),
    ],
)
def test_a_name_is_allowed_by_the_address_that_it_resolves_to(
    pattern: str, name: str, host: str | None
) -> None:
    resolver = Resolver()
    target = find(allowing(pattern), f"{name}:5000", resolver)
    # The login goes to the address that was checked, whatever the name resolves to by then.
    assert (target and (target.name, target.host)) == (host and (f"{name}:5000", host))
    assert resolver.asked == [name]


@pytest.mark.parametrize("address", ["10.1.2.33:5000", "192.0.2.1:5000", "db1.example.com:5001", "a@b:5000"])
def test_a_resolver_is_asked_only_where_the_answer_matters(address: str) -> None:
    resolver = Resolver()
    find(allowing("db1.example.com:5000", "10.1.2.0/24:5000"), address, resolver)
    find(allowing("db1.example.com:5000", "10.1.2.0/24:5000"), "db1.example.com:5000", resolver)
    assert resolver.asked == []


@pytest.mark.parametrize("pattern", [*CASES["no_patterns"], "db*:5000"])
def test_a_bad_pattern_or_unknown_credentials_are_one_line(tmp_path: Path, pattern: str) -> None:
    file = tmp_path / "exporter.yml"
    addresses = [{"address": pattern, "auth": "none"}]
    file.write_text(json.dumps({"probe_allowlist": {"addresses": addresses}}), encoding="utf-8")
    unknown = r"probe_allowlist: db\*:5000: its auth is not defined under auth"
    bad = r"probe_allowlist\.addresses\.0\.address: .*expected HOST:PORT"
    with pytest.raises(UserError, match=unknown if pattern == "db*:5000" else bad) as caught:
        config.load(file)
    assert "\n" not in str(caught.value)


async def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert true()


async def allowed(configuration: Config, address: str) -> Target:
    target = await probe_targets.find_target(configuration, address, Resolver())
    assert target
    return target


async def test_an_idle_target_is_removed_and_its_connection_closed(server: Simulated) -> None:
    port = server.address[1]
    configuration = allowing(f"127.0.0.*:{port}", max_targets=1, idle=0.5)
    target = await allowed(configuration, f"127.0.0.1:{port}")
    other = await allowed(configuration, f"127.0.0.2:{port}")
    async with running(configuration) as pool:
        for _ in range(2):
            pool.admit(target)
            pool.admit(target)
            assert (await scrape(pool, target.name)).summary.up
            if pool.allowlisted:
                with pytest.raises(BusyError, match="max_targets: 1 servers that are not configured"):
                    pool.admit(other)
            await until(lambda: pool.allowlisted == 0 and server.listener.connections == 0)
            assert target.name not in pool.states
            with pytest.raises(KeyError):
                await scrape(pool, target.name)


async def test_servers_that_were_never_up_give_way_to_others(server: Simulated) -> None:
    port = server.address[1]
    configuration = allowing(f"127.0.0.*:{port}", max_targets=2)
    good, *strangers = [await allowed(configuration, f"127.0.0.{number}:{port}") for number in range(1, 6)]
    async with running(configuration) as pool:
        for target in (*strangers, good, *strangers):
            pool.admit(target)
            reply = await scrape(pool, target.name)
            assert reply.summary.up == (target is good)
            assert pool.allowlisted <= 2
        # So do those whose scrape is in flight, after the others.
        scrapes = []
        for target in strangers:
            pool.admit(target)
            scrapes.append(asyncio.ensure_future(scrape(pool, target.name)))
            await asyncio.sleep(0)
        assert not any(reply.summary.up for reply in await asyncio.gather(*scrapes))
        assert pool.admitted(good.name)


async def test_names_of_one_server_give_way_to_other_servers(server: Simulated) -> None:
    port = server.address[1]
    configuration = allowing(f"127.0.0.*:{port}", max_targets=3)
    names = [f"name{number}.example:{port}" for number in range(8)]
    one = await allowed(configuration, f"127.0.0.1:{port}")
    other = await allowed(configuration, f"127.0.0.2:{port}")
    async with running(configuration) as pool:
        for name in names:
            pool.admit(replace(one, name=name))
            assert (await scrape(pool, name)).summary.up
            assert pool.allowlisted <= 3
        pool.admit(other)
        assert pool.admitted(other.name) and pool.admitted(names[-1])


async def test_a_restarted_worker_keeps_the_allowed_targets(server: Simulated) -> None:
    configuration = allowing(f"127.0.0.1:{server.address[1]}")
    target = await allowed(configuration, configuration.probe_allowlist.addresses[0].address)
    async with running(configuration) as pool:
        pool.admit(target)
        assert (await scrape(pool, target.name)).summary.up
        for pid in pool.pids:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: pool.restarts == 1)
        reply = await scrape(pool, target.name)
        assert reply.summary.up


async def test_coming_and_going_does_not_get_a_login_locked(server: Simulated) -> None:
    configuration = allowing(f"127.0.0.1:{server.address[1]}", auth="wrong", idle=0.2)
    target = await allowed(configuration, configuration.probe_allowlist.addresses[0].address)
    async with running(configuration) as pool:
        errors = []
        for _ in range(LOGIN_ATTEMPTS + 1):
            pool.admit(target)
            errors.append((await scrape(pool, target.name)).summary.error)
            await until(lambda: pool.allowlisted == 0)
        # The login backoff outlives the removal of the target.
        assert "refused the login" in errors[0]
        assert sum("refused the login" in error for error in errors) <= LOGIN_ATTEMPTS


def test_a_caller_gets_an_allowed_address_and_one_line_for_any_other(
    server: Simulated, tmp_path: Path
) -> None:
    address = f"127.0.0.1:{server.address[1]}"
    configuration = {
        "probe_allowlist": {"addresses": [{"address": address}]},
        "auth": {"default": {"user": "monitor", "password": PASSWORD}},
        "scrape": PATIENT,
        "modules": {"small": {"collectors": {"waits": False}}},
        "workers": 1,
    }
    with exporter(tmp_path, json.dumps(configuration)) as running:

        def probe(target: str, module: str = "") -> httpx2.Response:
            asked = {"target": target, "module": module}
            return httpx2.get(f"{running.url}/probe", params=asked, trust_env=False, timeout=90)

        assert "\nase_up 1.0\n" in probe(address).text
        small = probe(address, "small").text
        assert 'collector="spinlocks"' in small
        assert 'collector="waits"' not in small
        assert probe(address, "none").status_code == 404
        for refused in (
            "127.0.0.1:1",
            f"127.0.0.2:{server.address[1]}",
            f"monitor:{IN_ADDRESS}@{address}",
            "db",
        ):
            answer = probe(refused)
            assert answer.status_code == 403
            assert answer.text.count("\n") == 1
            assert IN_ADDRESS not in answer.text
        assert (
            "ase_exporter_allowed_targets 1.0"
            in httpx2.get(f"{running.url}/metrics", trust_env=False, timeout=60).text
        )
        page = httpx2.get(running.url, trust_env=False, timeout=60).text
        assert f"probe?target={quote(address)}" in page
        assert httpx2.get(f"{running.url}/targets", trust_env=False, timeout=60).json() == []


def test_a_name_that_moves_is_followed_within_the_network_and_kept_while_it_cannot_be_resolved() -> None:
    answers = {"ase.example.com": ["127.0.0.1"], "stranger.example.com": ["192.0.2.1"]}

    async def resolver(host: str) -> Sequence[str]:
        return answers[host]

    async def make(port: int) -> ExporterApp:
        loaded = Loaded.of(allowing(f"127.0.0.0/24:{port}"))
        return ExporterApp(lambda: loaded, loaded, look_up=resolver)

    with socket.socket() as closed:
        closed.bind(("0.0.0.0", 0))
        port = closed.getsockname()[1]
        app = anyio.run(make, port)
        with TestClient(create_app(app)) as client:

            def probe(name: str) -> int:
                return client.get("/probe", params={"target": f"{name}.example.com:{port}"}).status_code

            def host() -> str:
                target = app.pool.admitted(f"ase.example.com:{port}")
                assert target
                return target.host

            hosts = []
            for answer in ("127.0.0.1", "127.0.0.2", "192.0.2.1", None, "127.0.0.3"):
                answers["ase.example.com"] = [answer] if answer else []
                assert probe("ase") == 200
                hosts.append(host())
            assert hosts == ["127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3"]
            assert probe("stranger") == 403
            assert app.pool.allowlisted == 1
