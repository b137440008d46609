"""What callers ask for in headers, and what they can learn from answers."""

import asyncio
from collections.abc import Callable

import bcrypt
import pytest
from starlette.requests import Request

from ase_exporter.config import Scrape
from ase_exporter.web import app as app_module
from ase_exporter.web.auth import Passwords
from ase_exporter.web.exposition import accepts_gzip


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
