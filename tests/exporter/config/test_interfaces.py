"""Servers by name: files written in each format, by rules of its own, are read back."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter import config
from ase_exporter.config.interfaces import find_server, parse_interfaces
from ase_exporter.errors import UserError

# Not by expressions, from which hypothesis takes ten times as long.
NAMES = st.builds(str.__add__, st.sampled_from("AMZamz"), st.text("AZaz09_-", max_size=20))
HOSTS = st.lists(st.text("amz", min_size=2, max_size=5), min_size=1, max_size=3).map(".".join)
PORTS = st.integers(1, 65535)
Servers = Mapping[str, tuple[str, int]]
SERVERS = st.dictionaries(NAMES, st.tuples(HOSTS, PORTS), min_size=1, max_size=5)


def interfaces(servers: Servers) -> str:
    entry = "{0}\n\tmaster tcp ether {1} {2}\n\tquery tcp ether {1} {2} ssl\n\n# {0}\n"
    return "".join(entry.format(name, *address) for name, address in servers.items())


def sql_ini(servers: Servers) -> str:
    entry = "[{0}]\nmaster=TCP,{1},{2}\nquery=TCP,{1},{2}\n;query=TCP,no,1\n"
    return "".join(entry.format(name, *address) for name, address in servers.items())


def freetds(servers: Servers) -> str:
    entry = "[{0}]\n\tport = {2}\n\thost = {1}\n\ttds version = 5.0\n"
    return "[global]\n\thost = nowhere\n" + "".join(
        entry.format(name, *address) for name, address in servers.items()
    )


@pytest.mark.parametrize("written", [interfaces, sql_ini, freetds])
def test_what_is_written_is_found(written: object) -> None:
    assert callable(written)

    @given(SERVERS)
    def check(servers: Servers) -> None:
        servers = {name.lower(): address for name, address in servers.items()}
        text = written(servers)
        for name, (host, port) in servers.items():
            assert parse_interfaces(text, name) == (host, str(port))
        assert parse_interfaces(text, "not-there-at-all-anywhere") is None

    check()


@given(st.text(max_size=200), NAMES)
def test_any_text_is_read_without_an_exception(text: str, name: str) -> None:
    parse_interfaces(f"{text}\n{name}\n{text}\n[{name}]\n{text}", name)


def test_interfaces_come_before_freetds(tmp_path: Path) -> None:
    environment = {"SYBASE": str(tmp_path / "sap"), "HOME": str(tmp_path)}
    (tmp_path / "sap").mkdir()
    (tmp_path / "sap" / "interfaces").write_text(interfaces({"A": ("one", 5000)}))
    (tmp_path / ".freetds.conf").write_text(freetds({"A": ("two", 5001), "B": ("three", 5002)}))
    assert find_server("A", environment)[:2] == ("one", 5000)
    assert find_server("B", environment) == ("three", 5002, tmp_path / ".freetds.conf")
    with pytest.raises(UserError, match=r"-S C: it is not in .*interfaces, .*freetds\.conf"):
        find_server("C", environment)


@pytest.mark.parametrize(
    "line", ["query tcp ether ase1", "query tcp ether ase1 port", "query tcp ether ase1 0"]
)
def test_an_entry_without_a_port_is_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / ".interfaces").write_text(f"A\n\t{line}\nB\n")
    with pytest.raises(UserError, match=r"\.interfaces: A: expected a host and a port"):
        find_server("A", {"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("ase1:5000", "ase1", 5000), ("10.1.2.3:65535", "10.1.2.3", 65535), ("[::1]:5000", "::1", 5000)],
)
def test_host_and_port(text: str, host: str, port: int) -> None:
    target, file = config.server_target(text)
    assert (target.host, target.port, file) == (host, port, None)


@pytest.mark.parametrize(
    "text", ["ase1:", "ase1:0", "ase1:65536", "ase1:http", ":5000", "a;b:5000", "a b:5000"]
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UserError, match=r"^-S "):
        config.server_target(text)


def test_where_the_configuration_is_found(tmp_path: Path) -> None:
    own, named = tmp_path / "xdg" / "ase-exporter" / "exporter.yaml", tmp_path / "mine.yaml"
    environment = {"HOME": str(tmp_path)}
    assert config.find_file(environment) in (None, Path("/etc/ase-exporter/exporter.yaml"))
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    assert config.find_file(environment | {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}) == own
    assert config.find_file(environment | {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "ASE_HOST": "a"}) is None
    assert config.find_file(environment | {"ASE_EXPORTER_CONFIG": str(named), "ASE_HOST": "a"}) == named
