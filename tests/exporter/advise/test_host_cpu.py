"""The CPU flags of the database host, where they can be known."""

from pathlib import Path

import pytest

from ase_exporter.advise.host_cpu import cpu_flags, flags_of_host
from ase_exporter.errors import UserError

X86 = "processor\t: 0\nflags\t\t: fpu rtm sse2\n\nprocessor\t: 1\nflags\t\t: fpu rtm sse2\n"


@pytest.fixture
def procfs(tmp_path: Path) -> Path:
    """A /proc of a machine on which an ASE runs."""
    (tmp_path / "cpuinfo").write_text(X86)
    (tmp_path / "4711").mkdir()
    (tmp_path / "4711" / "comm").write_text("dataserver\n")
    return tmp_path


def test_flags_are_read_from_cpuinfo(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(X86)
    assert cpu_flags(tmp_path / "cpuinfo") == {"fpu", "rtm", "sse2"}


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^--cpuinfo: .*/none: No such file or directory$"):
        cpu_flags(tmp_path / "none")
    (tmp_path / "other").write_text("hello\n")
    with pytest.raises(UserError, match=r"expected a copy of /proc/cpuinfo"):
        cpu_flags(tmp_path / "other")


def test_the_flags_of_this_machine_are_those_of_a_server_on_it(procfs: Path) -> None:
    assert flags_of_host("127.0.0.1", str(procfs)) == frozenset({"fpu", "rtm", "sse2"})


def test_a_port_that_leads_elsewhere_says_nothing(procfs: Path) -> None:
    (procfs / "4711" / "comm").write_text("ssh\n")
    assert flags_of_host("127.0.0.1", str(procfs)) is None


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_flags_of_another_machine_are_not_known(procfs: Path, host: str) -> None:
    assert flags_of_host(host, str(procfs)) is None
