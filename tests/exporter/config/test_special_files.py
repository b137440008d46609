"""A FIFO or a device in the place of a file: one line, and never a wait for somebody who writes."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ase_exporter.ase.login_file import FILE
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.config import Auth, Config, yaml_files
from ase_exporter.config.web import TlsServer
from ase_exporter.errors import UserError
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.totals_files import DIRECTORY, TotalsFiles
from ase_exporter.sysmon.report import reports_of
from ase_exporter.web.web_config import server_context


def in_time(action: Callable[[], object]) -> str:
    """The error of an action that must not wait."""
    said: list[str] = []

    def act() -> None:
        try:
            action()
            said.append("")
        except UserError as error:
            said.append(str(error))

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(60)
    assert said, "it waits"
    return said[0]


@pytest.fixture(params=["fifo", "device", "directory"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "special"
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    return path


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    path.touch()
    os.truncate(path, 5 << 30)
    assert "larger than 4096 KiB" in in_time(lambda: yaml_files.load(path, Config))
    assert "a line has more than 64 KiB" in in_time(lambda: list(reports_of(str(path))))


def test_a_special_file_is_an_error_of_one_line(special: Path) -> None:
    certificate = TlsServer(cert_file=special, key_file=special)
    before = [*Path("/proc/self/fd").iterdir()]
    for action in (
        lambda: yaml_files.load(special, Config),
        lambda: Auth(user="probe", password_file=special).read_password(),
        lambda: server_context(certificate, special.parent / "web.yml", certificate.files(special.parent)),
    ):
        said = in_time(action)
        assert "not a regular file" in said or "Is a directory" in said
        assert "\n" not in said
    assert [*Path("/proc/self/fd").iterdir()] == before


def test_special_files_in_the_state_directory_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE)
    assert in_time(lambda: LoginLedger([tmp_path]).close()) == ""
    (tmp_path / DIRECTORY).mkdir()
    os.mkfifo(tmp_path / DIRECTORY / "ONE.totals")
    totals = TotalsFiles(tmp_path)
    assert in_time(lambda: totals.restore("ONE", CounterStore())) == ""
