"""What callers ask for in headers, and what they can learn from answers."""

import asyncio
from collections.abc import Callable

import bcrypt
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from ase_exporter.config import Scrape
from ase_exporter.web import app as app_module
from ase_exporter.web.auth import MAX_CHECKS, MAX_CHECKS_OF_ONE, Access, Passwords, TooManyChecksError
from ase_exporter.web.exposition import accepts_gzip
from ase_exporter.web.web_config import WebConfig


def request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw})


@pytest.mark.parametrize(
    ("asked", "given"), [("5", 5.0), ("90", 30.0), ("0.5", 2.0), ("nan", 10.0), ("-1", 10.0), ("x", 10.0)]
)
def test_the_timeout_of_a_caller_is_limited_by_the_configuration(asked: str, given: float) -> None:
    limits = Scrape(timeout=10.0, min_timeout=2.0, max_timeout=30.0)
    assert app_module._timeout(request(x_prometheus_scrape_timeout_seconds=asked), limits) == given


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [
        ("gzip", True),
        ("deflate, gzip;q=0.5", True),
        ("gzip;q=1.0, *;q=0", True),
        ("gzip;q=0", False),
        ("deflate, GZIP ; q=0.000", False),
        ("nogzip", False),
        ("", False),
    ],
)
def test_gzip_is_sent_only_to_callers_that_accept_it(accepted: str, compressed: bool) -> None:
    assert accepts_gzip(request(accept_encoding=accepted)) is compressed


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """The passwords and hashes that bcrypt is run for, as they come."""
    checked: list[tuple[bytes, bytes]] = []
    check: Callable[[bytes, bytes], bool] = bcrypt.checkpw

    def noting(password: bytes, stored: bytes) -> bool:
        checked.append((password, stored))
        return check(password, stored)

    monkeypatch.setattr(bcrypt, "checkpw", noting)
    return checked


def hashed(cost: int) -> str:
    return bcrypt.hashpw(b"right", bcrypt.gensalt(cost)).decode()


def test_a_flood_of_wrong_passwords_keeps_nobody_else_waiting(checked: list[tuple[bytes, bytes]]) -> None:
    users = {"scraper": hashed(4)}

    async def ask() -> None:
        passwords = Passwords()
        guesses = [
            passwords.match(users, "scraper", str(number).encode(), f"192.0.2.{number % 10}")
            for number in range(300)
        ]
        flood = asyncio.gather(*guesses, return_exceptions=True)
        await asyncio.sleep(0)
        refused = sum(isinstance(each, TooManyChecksError) for each in await flood)
        assert refused == 300 - MAX_CHECKS
        alone = [
            passwords.match(users, "scraper", str(number).encode(), "192.0.2.1") for number in range(300)
        ]
        one = asyncio.gather(*alone, return_exceptions=True)
        # Each target of a Prometheus asks, all with the same password.
        same = [passwords.match(users, "scraper", b"right", "192.0.2.2") for _ in range(300)]
        assert all(await asyncio.gather(*same))
        assert sum(isinstance(each, TooManyChecksError) for each in await one) == 300 - MAX_CHECKS_OF_ONE
        assert not passwords._checks
        assert not passwords._sources

    asyncio.run(ask())
    assert len(checked) == MAX_CHECKS + MAX_CHECKS_OF_ONE + 1


def test_the_password_of_a_caller_who_has_left_is_not_checked(checked: list[tuple[bytes, bytes]]) -> None:
    async def ask() -> bool:
        return await Passwords().match({"scraper": hashed(4)}, "scraper", b"right", is_gone=lambda: True)

    assert asyncio.run(ask()) is False
    assert not checked


OURS = [
    "127.0.0.1:10150",
    "[::1]:10150",
    "localhost",
    "exporter:10150",
    "10.1.2.3",
    "ase.monitoring.svc:10150",
]
OURS += ["metrics.example.com", "METRICS.EXAMPLE.COM.:1"]
OTHERS = ["rebound.example.net:10150", "127.0.0.1.example.net", "x.localhost.net", "a.b"]


@pytest.mark.parametrize(
    ("host", "status"), [*((host, 200) for host in OURS), *((host, 421) for host in OTHERS)]
)
def test_only_hosts_that_are_ours_are_answered_without_users(host: str, status: int) -> None:
    client = TestClient(
        Access(PlainTextResponse("names"), WebConfig(), lambda: None, ["metrics.example.com"])
    )
    for method in ("GET", "POST"):
        answer = client.request(method, "/", headers={"Host": host})
        assert answer.status_code == status
        assert ("names" in answer.text) == (status == 200)
        # Of every answer.
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"


def test_users_whose_hashes_have_other_costs_cannot_be_told_apart(checked: list[tuple[bytes, bytes]]) -> None:
    users = {"a": hashed(4), "b": hashed(5)}
    for user in ("a", "b", "nobody"):
        for password in (b"wrong", b"right"):
            checked.clear()
            matches = asyncio.run(Passwords().match(users, user, password))
            assert matches is (user in users and password == b"right")
            assert sorted(stored.split(b"$")[2] for _, stored in checked) == [b"04", b"05"]


def test_bcrypt_runs_once_for_a_correct_password_and_each_time_for_a_wrong_one(
    checked: list[tuple[bytes, bytes]],
) -> None:
    async def ask() -> list[bool]:
        passwords, users = Passwords(), {"scraper": hashed(4)}
        given = [("scraper", b"right"), ("scraper", b"wrong"), ("stranger", b"right")] * 2
        return [await passwords.match(users, user, password) for user, password in given]

    assert asyncio.run(ask()) == [True, False, False, True, False, False]
    # An unknown user takes as long as a wrong password, so that the time does not tell which users exist.
    assert [password for password, _ in checked] == [b"right", b"wrong", b"right", b"wrong", b"right"]
