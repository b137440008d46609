"""Lookups of host names are bounded, shared, and fall back to the last good addresses."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from tests.programs import eventually
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import PASSWORD, USER

from ase_exporter.ase import connection as connection_module
from ase_exporter.ase import resolver as resolver_module
from ase_exporter.ase.connection import Connection, Endpoint
from ase_exporter.ase.database_error import DatabaseError
from ase_exporter.ase.login_file import Account
from ase_exporter.ase.resolver import MAX_LOOKUPS, Resolver

HOST = "db7.corp.example"


class NameServers:
    """Name servers that know HOST, until they fall silent or fail."""

    def __init__(self) -> None:
        self.answering = threading.Event()
        self.answering.set()
        self.error: OSError | None = None
        self.asked: list[str] = []

    def look_up(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        self.answering.wait()
        if self.error:
            raise self.error
        return ["127.0.0.1"]


@pytest.fixture
def name_servers() -> Iterator[NameServers]:
    servers = NameServers()
    yield servers
    # Ends the threads of lookups.
    servers.answering.set()


def silent(resolver: Resolver, name_servers: NameServers, seconds: float = 0.05) -> None:
    """From now on no name server answers, and so long it is waited for."""
    name_servers.answering.clear()
    resolver._max_wait = seconds


def kind(resolver: Resolver, host: str = HOST, seconds: float = 60.0) -> str:
    with pytest.raises(DatabaseError) as caught:
        resolver.addresses(host, seconds)
    return f"{caught.value.kind}: {caught.value}"


def test_a_login_ends_in_time_and_at_the_last_good_address_while_name_servers_are_silent(
    server: Running, name_servers: NameServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(host: str, port: int | None, *_: object, **__: object) -> list[object]:
        [address] = name_servers.look_up(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    resolver = Resolver(max_wait=60.0)
    monkeypatch.setattr(connection_module, "resolver", resolver, raising=False)

    def log_in() -> None:
        endpoint = Endpoint(HOST, server.port)
        Connection.open(endpoint, USER, PASSWORD, deadline=time.monotonic() + 60).close()

    outcomes: list[str] = []

    def run() -> None:
        log_in()
        silent(resolver, name_servers)
        log_in()
        outcomes.append("done")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert outcomes == ["done"]


def test_silent_name_servers_and_no_known_address_are_named(name_servers: NameServers) -> None:
    name_servers.answering.clear()
    said = kind(Resolver(name_servers.look_up), seconds=0.05)
    assert said == f"unknown_host: {HOST}: the name servers do not answer"


def test_a_lookup_that_fails_falls_back_but_a_name_that_is_gone_does_not(name_servers: NameServers) -> None:
    resolver = Resolver(name_servers.look_up, 60.0)
    assert resolver.addresses(HOST, 60.0) == ["127.0.0.1"]
    name_servers.error = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    assert resolver.addresses(HOST, 60.0) == ["127.0.0.1"]
    name_servers.error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert kind(resolver) == f"unknown_host: {HOST}: no such host: expected one that this machine can look up"


def test_logins_share_a_lookup_and_a_later_one_does_not_wait_again(name_servers: NameServers) -> None:
    resolver = Resolver(name_servers.look_up, 60.0)
    resolver.addresses(HOST, 60.0)
    silent(resolver, name_servers)
    for _ in range(20):
        assert resolver.addresses(HOST, 60.0) == ["127.0.0.1"]
    assert name_servers.asked == [HOST, HOST]


def test_lookups_at_a_time_are_bounded(name_servers: NameServers) -> None:
    resolver = Resolver(name_servers.look_up, 0.01)
    name_servers.answering.clear()
    hosts = [f"db{number}.corp.example" for number in range(3 * MAX_LOOKUPS)]
    for host in hosts:
        assert kind(resolver, host, 0.01).startswith("unknown_host")
    eventually("as many lookups as there may be", lambda: len(name_servers.asked) == MAX_LOOKUPS)


def test_a_lookup_beyond_those_at_a_time_waits_for_its_turn(name_servers: NameServers) -> None:
    resolver = Resolver(name_servers.look_up)
    name_servers.answering.clear()
    found: list[Sequence[str]] = []
    hosts = [f"db{number}.corp.example" for number in range(3 * MAX_LOOKUPS)]
    threads = [
        threading.Thread(target=lambda host=host: found.append(resolver.addresses(host, 60.0)), daemon=True)
        for host in hosts
    ]
    for thread in threads:
        thread.start()
    while len(resolver._lookups) < len(hosts):
        assert any(thread.is_alive() for thread in threads)
    name_servers.answering.set()
    for thread in threads:
        thread.join(60)
    assert found == [["127.0.0.1"]] * len(hosts)


def test_a_known_host_does_not_wait_long_for_its_turn(name_servers: NameServers) -> None:
    resolver = Resolver(name_servers.look_up, 60.0)
    assert resolver.addresses(HOST, 60.0) == ["127.0.0.1"]
    silent(resolver, name_servers)
    for number in range(MAX_LOOKUPS):
        kind(resolver, f"other{number}.corp.example", 0.01)
    assert resolver.addresses(HOST, 3600.0) == ["127.0.0.1"]


def test_no_more_than_so_many_hosts_are_remembered(
    name_servers: NameServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "MAX_KNOWN", 3)
    resolver = Resolver(name_servers.look_up, 60.0)
    for number in range(5):
        resolver.addresses(f"db{number}.corp.example", 60.0)
    name_servers.error = OSError("no name server")
    assert kind(resolver, "db1.corp.example").endswith("do not answer")
    assert resolver.addresses("db2.corp.example", 60.0) == ["127.0.0.1"]


def test_an_address_is_not_looked_up(name_servers: NameServers) -> None:
    resolver = Resolver(name_servers.look_up)
    name_servers.answering.clear()
    assert [resolver.addresses(host, 60.0) for host in ("10.1.2.3", "::1")] == [["10.1.2.3"], ["::1"]]
    assert name_servers.asked == []


def test_one_server_has_one_account_however_its_address_is_written() -> None:
    here = ("127.0.0.1", "127.0.0.2", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "0.0.0.0")
    assert {Account.of(each, 5000, "monitor").host for each in here} == {"127.0.0.1"}
    elsewhere = ("192.0.2.1", "::ffff:192.0.2.1")
    assert {Account.of(each, 5000, "monitor").host for each in elsewhere} == {"192.0.2.1"}
    assert Account.of("Prod1.Example.", 5000, "Monitor ") == ("prod1.example", 5000, "monitor")
