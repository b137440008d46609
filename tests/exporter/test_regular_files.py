"""What is written: its owner and group alone read it, links are not followed, files of others are left alone."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run

from ase_exporter.capture.file import CaptureHeader
from ase_exporter.capture.stream import CaptureWriter
from ase_exporter.changes.store import FILE, open_store
from ase_exporter.commands.options import write_output
from ase_exporter.errors import UserError
from ase_exporter.regular_files import write_bytes

HEADER = CaptureHeader("1", "2026-01-01T00:00:00Z", 1, 1.0)
WRITERS: dict[str, Callable[[Path], object]] = {
    "--output": lambda path: write_output(path, "ours"),
    "--record": lambda path: CaptureWriter(path, HEADER).close(),
}


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """What whoever starts a command has."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(path: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.lstat().st_mode) for each in (path, *path.rglob("*"))}


@pytest.mark.usefixtures("umask")
def test_a_command_writes_nothing_that_others_may_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def work() -> int:
        for name, write in WRITERS.items():
            write(tmp_path / name)
        open_store(tmp_path / "state" / "deep").close()
        write_bytes(tmp_path / "state" / "totals", b"")
        (tmp_path / "any").mkdir()
        (tmp_path / "any" / "file").touch()
        return 0

    monkeypatch.setattr("ase_exporter.commands.app.run", work)
    assert run("check").returncode == 0
    found = modes(tmp_path)
    del found[tmp_path.name]
    assert {"--output", "--record", "totals", FILE, "lock", "any", "file", "deep"} <= found.keys()
    assert not {name: oct(mode) for name, mode in found.items() if mode & 0o027}


@pytest.mark.usefixtures("umask")
def test_files_for_other_programs_can_be_read_and_not_written(run: Run, tmp_path: Path) -> None:
    assert run("write", "sql", "-o", str(tmp_path / "new" / "sql")).returncode == 0
    found = modes(tmp_path / "new")
    assert {stat.filemode(mode)[1:] for name, mode in found.items() if name.endswith(".sql")} == {"rw-r--r--"}
    assert found["sql"] == 0o755


@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_is_not_followed_and_a_file_of_another_user_not_overwritten(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, link, hard = (tmp_path / name for name in ("victim", "link", "hard"))
    victim.write_text("precious")
    link.symlink_to(victim)
    hard.hardlink_to(victim)
    for each in (link, hard):
        with pytest.raises(UserError, match="it is a link"):
            WRITERS[writer](each)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UserError, match="it belongs to another user"):
        WRITERS[writer](victim)
    assert victim.read_text() == "precious"


def test_standard_output_may_be_named(tmp_path: Path) -> None:
    with (tmp_path / "redirected").open("wb") as file:
        write_output(Path(f"/dev/fd/{file.fileno()}"), "text")
    assert (tmp_path / "redirected").read_text() == "text"


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
def test_a_linked_history_is_moved_aside(tmp_path: Path, suffix: str) -> None:
    victim = tmp_path / "victim"
    state = tmp_path / "state"
    state.mkdir(0o750)
    (state / (FILE + suffix)).symlink_to(victim)
    open_store(state).close()
    assert not victim.exists()
    assert (state / FILE).is_file()


def test_a_state_directory_that_others_may_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    said = f"--state-dir: {tmp_path}/open: others may write to it: expected `chmod o-w`, or another directory"
    with pytest.raises(UserError, match=f"^{re.escape(said)}$"):
        open_store(tmp_path / "open")
