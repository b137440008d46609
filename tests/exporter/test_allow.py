"""Addresses that /probe takes though nobody configured them: which, how many, how long, and by whose password."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import TypeAdapter
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import PASSWORD, Simulated, run
from tests.planted import IN_ADDRESS

from ase_exporter import config
from ase_exporter.allow import AllowedAddress
from ase_exporter.config import Auth, Config, Target
from ase_exporter.errors import UserError
from ase_exporter.loading import Loaded
from ase_exporter.pool import BusyError, WorkerPool
from ase_exporter.refusal import LOGIN_ATTEMPTS

AUTH = {"default": Auth(user="monitor", password=PASSWORD), "wrong": Auth(user="monitor", password="wrong")}


def allowing(*patterns: str, auth: str = "default", most: int = 100, idle: float = 600.0) -> Config:
    addresses = [{"address": pattern, "auth": auth} for pattern in patterns]
    return TypeAdapter(Config).validate_python(
        {
            "allow": {"addresses": addresses, "most": most, "idle": idle},
            "auth": AUTH,
            "workers": 2,
            "scrape": PATIENT,
        }
    )


@pytest.mark.parametrize(
    ("pattern", "address", "matches"),
    [
        ("ase*.db.example.com:5000", "ase17.db.example.com:5000", True),
        ("ase*.db.example.com:5000", "ASE17.DB.Example.com:5000", True),
        ("ase*.db.example.com:5000", "ase.db.example.com:5000", True),
        ("10.1.2.*:5000", "10.1.2.33:5000", True),
        # A star does not cross a dot, a dot is a dot, and nothing may stand before or after.
        ("ase*.db.example.com:5000", "ase.evil.db.example.com:5000", False),
        ("ase*.db.example.com:5000", "ase1xdb.example.com:5000", False),
        ("ase*.db.example.com:5000", "xase1.db.example.com:5000", False),
        ("ase*.db.example.com:5000", "ase1.db.example.com:50001", False),
        ("ase*.db.example.com:5000", "ase1.db.example.com:5001", False),
        ("ase*.db.example.com:5000", "ase1.db.example.com", False),
        ("ase*.db.example.com:5000", "ase1.db.example.com.evil.com:5000", False),
        ("10.1.2.*:5000", "10.1.2.evil.com:5000", False),
        ("*:5000", "127.0.0.1:5000", False),
        # What a resolver would take for 127.0.0.1.
        ("*:5000", "2130706433:5000", False),
        ("*:5000", "0x7f000001:5000", False),
        ("*.*:5000", "127.1:5000", False),
        ("*.*.*.*:5000", "0177.0.0.1:5000", False),
        # Nothing but HOST:PORT, whatever libraries may make of it.
        ("*:5000", "user:secret@db1:5000", False),
        ("*:5000", "secret@db1:5000", False),
        ("*:5000", "db1:5000\n", False),
        ("*:5000", "db1;UID=sa:5000", False),
        ("*:5000", "db1:5000/x", False),
        ("*:5000", "db1\x00:5000", False),
        ("*:5000", "db1:05000000", False),
        ("*:5000", "dbı:5000", False),
        ("*:5000", "", False),
    ],
)
def test_an_address_is_allowed_when_the_whole_of_it_matches(
    pattern: str, address: str, matches: bool
) -> None:
    assert (allowing(pattern).allowed(address) is not None) == matches


def test_the_first_pattern_that_matches_says_how_to_log_in() -> None:
    several = TypeAdapter(Config).validate_python(
        {
            "allow": {
                "addresses": [
                    {"address": "special:5000", "auth": "wrong", "encrypt_password": True},
                    {"address": "*:5000"},
                ]
            },
            "auth": AUTH,
        }
    )
    assert several.allowed("Special:5000") == Target(
        name="special:5000", host="special", port=5000, auth="wrong", encrypt_password=True
    )
    assert several.allowed("other:5000") == Target(name="other:5000", host="other", port=5000)


@pytest.mark.parametrize("pattern", ["db1", "db1:*", "db1:0", "db1:65536", "*@db1:5000", "db[0-9]:5000", ""])
def test_a_pattern_that_is_none_is_one_line(tmp_path: Path, pattern: str) -> None:
    file = tmp_path / "exporter.yml"
    file.write_text(json.dumps({"allow": {"addresses": [{"address": pattern}]}}), encoding="utf-8")
    with pytest.raises(UserError, match=r"allow\.addresses\.0\.address: .*expected HOST:PORT") as caught:
        config.load(file)
    assert "\n" not in str(caught.value)


def test_a_pattern_names_credentials_that_exist(tmp_path: Path) -> None:
    file = tmp_path / "exporter.yml"
    file.write_text("allow: {addresses: [{address: 'db*:5000', auth: none}]}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"allow: db\*:5000: auth 'none' is not defined under auth"):
        config.load(file)


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server


def with_pool(configuration: Config, act: Callable[[WorkerPool], Awaitable[None]]) -> None:
    async def main() -> None:
        pool = WorkerPool(Loaded.of(configuration))
        await pool.start()
        try:
            await act(pool)
        finally:
            await pool.stop()

    asyncio.run(main())


async def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert true()


def guest(configuration: Config, address: str) -> Target:
    target = configuration.allowed(address)
    assert target
    return target


def test_one_that_nobody_asks_for_any_more_is_let_go_with_its_connection(server: Simulated) -> None:
    port = server.address[1]
    configuration = allowing(f"127.0.0.*:{port}", most=1, idle=0.5)
    target = guest(configuration, f"127.0.0.1:{port}")
    other = guest(configuration, f"127.0.0.2:{port}")

    async def act(pool: WorkerPool) -> None:
        for _ in range(2):
            pool.admit(target)
            pool.admit(target)
            assert (await pool.scrape(target.name, time.monotonic() + 60)).up
            if pool.guests:
                with pytest.raises(BusyError, match="most: 1 servers that are not configured"):
                    pool.admit(other)
            await until(lambda: pool.guests == 0 and server.listener.connections == 0)
            assert target.name not in pool.states
            with pytest.raises(KeyError):
                await pool.scrape(target.name, time.monotonic() + 60)

    with_pool(configuration, act)


def test_a_worker_that_is_replaced_knows_its_guests(server: Simulated) -> None:
    configuration = allowing(f"127.0.0.1:{server.address[1]}")
    target = guest(configuration, configuration.allow.addresses[0].address)

    async def act(pool: WorkerPool) -> None:
        pool.admit(target)
        assert (await pool.scrape(target.name, time.monotonic() + 60)).up
        for worker in pool._workers:
            assert worker
            worker.process.kill()
        await until(lambda: pool.restarts == 2)
        reply = await pool.scrape(target.name, time.monotonic() + 60)
        assert reply.up

    with_pool(configuration, act)


def test_coming_and_going_does_not_get_a_login_locked(server: Simulated) -> None:
    configuration = allowing(f"127.0.0.1:{server.address[1]}", auth="wrong", idle=0.2)
    target = guest(configuration, configuration.allow.addresses[0].address)

    async def act(pool: WorkerPool) -> None:
        errors = []
        for _ in range(5):
            pool.admit(target)
            errors.append((await pool.scrape(target.name, time.monotonic() + 60)).error)
            await until(lambda: pool.guests == 0)
        # Refused, then left alone for the pause, though each time it was admitted anew.
        assert "refused the login" in errors[0]
        assert sum("refused the login" in error for error in errors) <= LOGIN_ATTEMPTS

    with_pool(configuration, act)


def test_a_caller_gets_an_allowed_address_and_one_line_for_any_other(
    server: Simulated, tmp_path: Path
) -> None:
    address = f"127.0.0.1:{server.address[1]}"
    configuration = {
        "allow": {"addresses": [{"address": address}]},
        "auth": {"default": {"user": "monitor", "password": PASSWORD}},
        "scrape": PATIENT,
        "modules": {"small": {"collectors": {"waits": False}}},
    }
    with exporter(tmp_path, json.dumps(configuration)) as running:

        def probe(target: str, module: str = "") -> httpx.Response:
            asked = {"target": target, "module": module}
            return httpx.get(f"{running.url}/probe", params=asked, trust_env=False, timeout=90)

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
            in httpx.get(f"{running.url}/metrics", trust_env=False, timeout=60).text
        )
        assert f"probe?target={address}" in httpx.get(running.url, trust_env=False, timeout=60).text
        assert httpx.get(f"{running.url}/targets", trust_env=False, timeout=60).json() == []


def test_a_pattern_is_no_regular_expression() -> None:
    assert not AllowedAddress(address="a.b:5000").matches("axb:5000")
