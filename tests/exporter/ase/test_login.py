"""Logins that are not answered: how long one is waited for, and whether it counts; what the log says of others."""

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from ase_exporter.ase.connection import Endpoint
from ase_exporter.ase.database_error import DatabaseError, Kind
from ase_exporter.ase.login import Login, Permission, UnansweredLogin
from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS, LoginLedger
from ase_exporter.ase.timing import TIMING
from ase_exporter.config import Auth


class Server:
    """Accepts the first password, or none, and then hangs."""

    def __init__(self, stack: ExitStack, *, accepts: bool) -> None:
        self._stack = stack
        self._accepts = accepts
        self._listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.logins = 0

    def open(self, *_: Any, allow: Any, **__: Any) -> object:
        allow(["127.0.0.1"])
        self.logins += 1
        if self._accepts and self.logins == 1:
            return object()
        own = socket.create_connection(self._listening.getsockname())
        self._stack.enter_context(self._listening.accept()[0])
        error = DatabaseError("deadline", "not answered in time")
        error.uncertain, error.unanswered = True, UnansweredLogin(own)
        raise error


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def login(server: Server) -> Login[Any]:
    endpoint = Endpoint("127.0.0.1", 5000)
    return Login(endpoint, Auth(user="monitor", password="planted"), server.open)


def kinds(one: Login[Any], scrapes: int) -> list[str]:
    found: list[str] = []
    for _ in range(scrapes):
        with pytest.raises(DatabaseError) as raised:
            one.open(0.0)
        found.append(raised.value.kind)
    return found


@pytest.mark.parametrize(("wait", "logins"), [(0.0, 6), (3600.0, 2)], ids=["waited for", "not yet"])
def test_a_password_that_was_accepted_is_sent_again_after_a_while_and_never_suspended(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, wait: float, logins: int
) -> None:
    """The connection may be stuck where others are not."""
    monkeypatch.setattr(TIMING, "accepted_login_wait", wait)
    server = Server(stack, accepts=True)
    one = login(server)
    one.open(0.0)
    assert kinds(one, 5) == ["deadline"] * 5
    assert server.logins == logins
    one.close()


@pytest.mark.parametrize("kind", ["login_failed", "unreachable"])
def test_a_server_that_repeats_the_password_does_not_get_it_into_our_log(kind: Kind) -> None:
    def refuse(*_: object, allow: Permission, **__: object) -> object:
        allow(())
        raise DatabaseError(kind, "login failed for monitor with pa(ss word", 4002)

    auth = Auth(user="monitor", password="pa(ss word")
    with pytest.raises(DatabaseError) as caught:
        Login(Endpoint("ase1", 5000), auth, refuse).open(1e9)
    assert str(caught.value) == "Msg 4002: login failed for monitor with <password>"
    assert (caught.value.kind, caught.value.number) == (kind, 4002)
    assert caught.value.__cause__ is None


def test_an_address_that_accepts_a_password_vouches_for_no_other_of_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who answers for a name can give it the address of another server, on which the login gets locked."""
    monkeypatch.setattr(TIMING, "login_pause", 0.0)
    ledger, sent = LoginLedger(), Counter[str]()

    def open_at(first: str, *addresses: str) -> None:
        def opened(*_: object, allow: Permission, note: Callable[[str], None], **__: object) -> object:
            allow((first, *addresses))
            note(first)
            sent[first] += 1
            if first == "192.0.2.1":
                return object()
            raise DatabaseError("login_failed", "refused", 4002)

        auth = Auth(user="monitor", password="planted")
        with suppress(DatabaseError):
            Login(Endpoint("theirs.example", 5000), auth, opened, ledger=ledger).open(1e9)

    for _ in range(LOGIN_ATTEMPTS + 1):
        open_at("192.0.2.2")
        open_at("192.0.2.1", "192.0.2.2")
    assert sent["192.0.2.2"] == LOGIN_ATTEMPTS
