"""Servers by name: files written in each format, by rules of its own, are read back, and as FreeTDS reads them."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import SHARED

from ase_exporter import config
from ase_exporter.config.interfaces import Address, find_server, parse_interfaces
from ase_exporter.errors import UserError
from ase_exporter.regular_files import decoded

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
            found = parse_interfaces(text, name)
            assert found
            assert [(each.host, each.port) for each in found] == [(host, port)]
        assert parse_interfaces(text, "not-there-at-all-anywhere") is None

    check()


@given(st.text(max_size=200), NAMES)
def test_any_text_is_read_without_an_exception(text: str, name: str) -> None:
    with contextlib.suppress(ValueError):
        parse_interfaces(f"{text}\n{name}\n{text}\n[{name}]\n{text}", name)


def test_interfaces_come_before_freetds(tmp_path: Path) -> None:
    environment = {"SYBASE": str(tmp_path / "sap"), "HOME": str(tmp_path)}
    (tmp_path / "sap").mkdir()
    (tmp_path / "sap" / "interfaces").write_text(interfaces({"A": ("one", 5000)}))
    (tmp_path / ".freetds.conf").write_text(freetds({"A": ("two", 5001), "B": ("three", 5002)}))
    assert find_server("A", environment)[:2] == ("one", 5000)
    assert find_server("B", environment) == ("three", 5002, f"{tmp_path}/.freetds.conf, line 9")
    with pytest.raises(UserError, match=r"-S C: it is not in .*interfaces, .*freetds\.conf"):
        find_server("C", environment)
    (tmp_path / ".interfaces").write_text(interfaces({"BILLING_PROD": ("one", 5000)}))
    with pytest.raises(UserError, match=r"\.conf; did you mean BILLING_PROD\? expected the name of a server"):
        find_server("billingprod", environment)


ONE = [("127.0.0.1", 5100)]
ENTRIES = {
    "tcp": ("A\n\tquery tcp ether 127.0.0.1 5100", ONE),
    "spaces": ("A\n  query   tcp  ether  127.0.0.1   5100  ", ONE),
    "retries": ("A 5 10\n\tquery tcp ether 127.0.0.1 5100", ONE),
    "Windows line ends": ("A\r\n\tquery tcp ether 127.0.0.1 5100\r\n", ONE),
    "a filter": ("A\n\tquery tcp ether 127.0.0.1 5100 ssl", ONE),
    "a filter with =": ('A\n\tquery tcp ether 127.0.0.1 5100 ssl="CN=a.example"', ONE),
    "a comment with =": ("# a = b [c]\nA\n\tquery tcp ether 127.0.0.1 5100", ONE),
    "a mechanism": ("A\n\tquery tcp ether 127.0.0.1 5100\n\tsecmech 1.3.6.1=x", ONE),
    "several lines": ("A\n\tquery tcp ether no 5100\n\tquery tcp ether 127.0.0.1 5100", [("no", 5100), *ONE]),
    "IPv6": ("A\n\tquery tcp ether ::1 5100", [("::1", 5100)]),
    "IPv6 alone": ("A\n\tquery tcp6 ether ::1 5100", [("::1", 5100)]),
    "TLI": ("A\n\tquery tli tcp /dev/tcp \\x000213ec7f0000010000000000000000", ONE),
    "TLI, short": ("A\n\tquery tli tcp /dev/tcp 0x000213ec7f000001", ONE),
    "TLI, upper case": ("A\n\tquery tli tcp /dev/tcp \\x000213EC7F000001", ONE),
    "TLI, a family in the other order": ("A\n\tquery tli tcp /dev/tcp \\x020013ec7f000001", ONE),
    "the ellipsis of Windows in a comment": (
        "# prix\x85\nA\n\t# no\x85B\n\tquery tcp ether 127.0.0.1 5100",
        ONE,
    ),
    "other networks": (
        "A\n\tquery spx ether H 0x83bd\n\tquery decnet ether no 200\n\tquery tli spx /dev/x \\x0000\n"
        "\tquery tcp ether 127.0.0.1 5100",
        ONE,
    ),
    "one without ssl": ("A\n\tquery tcp ether s 1 ssl\n\tquery tcp ether 127.0.0.1 5100", [*ONE, ("s", 1)]),
    "sql.ini, a named pipe": ("[A]\nquery=NLMSNMP,\\pipe\\sybase\nquery=NLWNSCK,127.0.0.1,5100", ONE),
    "sql.ini": ("[A]\nmaster=NLWNSCK,no,1\nquery=NLWNSCK,127.0.0.1,5100", ONE),
    "sql.ini, spaces": ("[ A ]\n query = TCP , 127.0.0.1 , 5100", ONE),
    "sql.ini, a filter": ('[A]\nquery=TCP,127.0.0.1,5100,ssl="CN=a.example"', ONE),
    "sql.ini, several lines": ("[A]\nquery=TCP,no,1\nquery=TCP,127.0.0.1,5100", [("no", 1), *ONE]),
}
FREETDS = {
    "indented": "\t[A]\n\t\thost = 127.0.0.1\n\tport=5100",
    "comments": "[A]  # production\n; host = no\nhost = 127.0.0.1 ; primary\nport = 5100 # tcp",
    "upper case": "[A]\nPORT=5100\nHOST=127.0.0.1",
    "lower case": "[a]\nhost = 127.0.0.1\nport = 5100",
    "the last counts": "[A]\nhost = no\nport = 1\n[A]\nhost = 127.0.0.1\nport = 5100",
    "options of others": "[global]\nhost = no\nport = 1\n[A]\nx = 1\nhost = 127.0.0.1\nport = 5100\n[B]\nport = 2",
    "Windows line ends": "[A]\r\nhost = 127.0.0.1\r\nport = 5100\r\n",
    "text after the bracket": "[A] host = no\nhost = 127.0.0.1\nport = 5100",
    "what all servers share": "[global]\nport = 1\nhost = 127.0.0.1\n[B]\nport = 2\n[global]\nport = 5100\n[A]\n",
    "a host of its own": "[A]\nhost = 127.0.0.1\n[B]\nhost = no\n[global]\nhost = no\nport = 5100",
    "a name in a comment": "# [B]\n[A]\nhost = 127.0.0.1\n;[C]\nport = 5100",
    "blank lines": "[A]\n\nhost = 127.0.0.1\n\nport = 5100\n\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("entry", [*ENTRIES, *(f"freetds {name}" for name in FREETDS)])
def test_an_entry_is_read_in_any_encoding(tmp_path: Path, entry: str, encoding: str) -> None:
    text, expected = ENTRIES.get(entry) or (FREETDS[entry.removeprefix("freetds ")], ONE)
    text = f"# données PROD »\n{text}" if encoding == "latin-1" else text
    (tmp_path / ".interfaces").write_bytes(text.encode(encoding))
    tried: list[Address] = []
    assert find_server("A", {"HOME": str(tmp_path)}, tried.append)[:2] == expected[-1]  # type: ignore[arg-type]
    assert [(each.host, each.port) for each in tried] == expected[:-1]


@pytest.mark.parametrize("entry", FREETDS)
def test_freetds_reads_its_file_so(tmp_path: Path, entry: str) -> None:
    if shutil.which("tsql") is None:
        pytest.skip("needs tsql (Debian: freetds-bin)")
    (tmp_path / "freetds.conf").write_bytes(FREETDS[entry].replace("5100", "1").encode())
    environment = {
        **os.environ,
        "FREETDSCONF": str(tmp_path / "freetds.conf"),
        "TDSDUMP": str(tmp_path / "log"),
        "HOME": str(tmp_path),
    }
    command = ["tsql", "-S", "A", "-U", "nobody", "-P", "none"]
    subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
    )
    log = (tmp_path / "log").read_text(errors="replace")
    assert re.search(r"Connecting to (\S+) port (\d+)", log, re.IGNORECASE)
    assert set(re.findall(r"Connecting to (\S+) port (\d+)", log)) == {("127.0.0.1", "1")}


def test_of_several_query_lines_the_first_that_answers_is_taken(tmp_path: Path) -> None:
    lines = "".join(f"\tquery tcp ether h{number} {number} ssl\n" for number in range(1, 5))
    (tmp_path / ".interfaces").write_text(f"A\n{lines}")
    home = {"HOME": str(tmp_path)}
    assert find_server("A", home, lambda each: each.port == 3)[:2] == ("h3", 3)
    assert find_server("A", home, lambda _: False)[:2] == ("h4", 4)
    assert "line 4, which asks for ssl" in find_server("A", home, lambda each: each.port == 3)[2]
    (tmp_path / ".interfaces").write_text(f"A\n{lines}\tquery tcp ether plain 5\n")
    assert find_server("A", home, lambda _: True) == ("plain", 5, f"{tmp_path}/.interfaces, line 6")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "A\n\tmaster tcp ether h 5100\n",
            r"line 1: A: expected a query line: clients do not use master lines",
        ),
        ("[A]\nmaster=TCP,h,5100\n", r"line 1: A: expected a query line"),
        ("\nA\n\tquery tli tcp /dev/tcp \\x0017\n", r"line 3: A: expected .*, or a TLI address of IPv4"),
        ("A\n\tquery tli tcp\n", r"line 2: A: expected .*, or a TLI address of IPv4"),
        ("A\n\tquery decnet ether h 200\n", r"line 2: A: expected a host and a port"),
        ("A\n\tquery tcp ether h 70000\n", r"line 2: A: expected a host and a port"),
        ("A\n\tquery tcp ether h\nB\n", r"line 2: A: expected a host and a port"),
        ("A\n\tquery tcp ether h 0\n", r"line 2: A: expected a host and a port"),
        ("A\n\tquery tcp ether h port\n", r"line 2: A: expected a host and a port"),
        ("[A]\nquery=TCP,h\n", r"line 2: A: expected a host and a port"),
        ("[A]\nhost = h\ntds version = 5.0\n", r"line 2: A: expected a host and a port"),
        ("[A]\nhost = h\nport = asedb\n", r"line 2: A: expected a host and a port"),
        ("[A]\nhost = h\ninstance = SQLEXPRESS\n", r"line 3: A: an instance is of Microsoft SQL Server"),
        ("[A]\ntds version = 5.0\n", r"line 1: A: expected a host and a port"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / ".interfaces").write_text(text)
    with pytest.raises(UserError, match=rf"\.interfaces: {said}"):
        find_server("A", {"HOME": str(tmp_path)})


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".interfaces")
    (tmp_path / ".freetds.conf").mkdir()
    with pytest.raises(UserError) as refused:
        find_server("A", {"HOME": str(tmp_path)})
    assert f"{tmp_path}/.interfaces cannot be read: not a regular file" in str(refused.value)
    assert f"{tmp_path}/.freetds.conf cannot be read: Is a directory" in str(refused.value)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("01-interfaces-ssl-cn", "DEMO_INSTANCE", ONE),
        ("02-interfaces-ssl-plain", "SYBSRV1", [("127.0.0.1", 5101)]),
        ("03-interfaces-tli", "TLI1", ONE),
        ("03-interfaces-tli", "TLI2", ONE),
        ("04-interfaces-two-query-lines", "DEPLOY24", [("no_such_host_24", 5100), *ONE]),
        ("05-sql.ini-bom", "ALPHA_XP", ONE),
        ("05-sql.ini-bom", "alpha", ONE),
        ("08-freetds.conf", "indented", ONE),
        ("08-freetds.conf", "inline", ONE),
        ("08-freetds.conf", "with space name", ONE),
        ("08-freetds.conf", "v6", [("::1", 5100)]),
        ("08-freetds.conf", "twice", [("127.0.0.2", 5999)]),
        ("09-interfaces-latin1-comment", "PROD", [("127.0.0.1", 5110)]),
    ],
)
def test_files_of_others(file: str, name: str, expected: list[tuple[str, int]]) -> None:
    found = parse_interfaces(decoded((SHARED / "judges" / "field" / file).read_bytes()), name)
    assert found
    assert [(each.host, each.port) for each in found] == expected


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("ase1:5000", "ase1", 5000), ("10.1.2.3:65535", "10.1.2.3", 65535), ("[::1]:5000", "::1", 5000)],
)
def test_host_and_port(text: str, host: str, port: int) -> None:
    target, where = config.server_target(text)
    assert (target.host, target.port, where) == (host, port, "")


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
