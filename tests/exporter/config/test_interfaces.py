"""Servers by name: files written in each format, by rules of its own, are read back, and as FreeTDS reads them."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import SHARED

from ase_exporter import config
from ase_exporter.assets import load_yaml
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


ONE = [["127.0.0.1", 5100]]
CASES = load_yaml(Path(__file__).with_name("interfaces.yaml").read_text(encoding="utf-8"))
FREETDS: Mapping[str, str] = CASES["freetds"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("entry", [*CASES["entries"], *(f"freetds {name}" for name in FREETDS)])
def test_an_entry_is_read_in_any_encoding(tmp_path: Path, entry: str, encoding: str) -> None:
    text = CASES["entries"].get(entry) or FREETDS[entry.removeprefix("freetds ")]
    expected = [tuple(each) for each in CASES["addresses"].get(entry, ONE)]
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


@pytest.mark.parametrize(("text", "said"), CASES["unusable"])
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
@pytest.mark.parametrize("case", CASES["of_others"], ids=str)
def test_files_of_others(case: list[Any]) -> None:
    file, name, *expected = case
    found = parse_interfaces(decoded((SHARED / "judges" / "field" / file).read_bytes()), name)
    assert found
    assert [[each.host, each.port] for each in found] == (expected[0] if expected else ONE)


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
