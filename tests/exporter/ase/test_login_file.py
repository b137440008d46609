"""The file of refused logins: where it is, who may read it, and what damage does to it."""

import os
import stat
from pathlib import Path

import pytest

from ase_exporter.ase.login_file import FILE, Account, Known, LoginFile, Tried, shared_directories

ACCOUNT = Account.of("192.0.2.1", 5000, "monitor")


def note(*directories: Path) -> None:
    with LoginFile(directories).content() as content:
        content.setdefault(ACCOUNT.key, Known()).passwords["hash"] = Tried([1.0])


def known(*directories: Path) -> list[float]:
    with LoginFile(directories).content() as content:
        return content[ACCOUNT.key].passwords["hash"].refused if content else []


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_its_owner_can_read_the_file_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        note(tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / FILE).stat().st_mode) == 0o600
    assert not (tmp_path / "new").stat().st_mode & 0o027


def test_a_link_is_not_followed_and_a_directory_of_everybody_is_not_used(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / FILE).symlink_to(victim)
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / FILE).hardlink_to(victim)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    places = [tmp_path / name for name in ("linked", "hard", "open", "own")]
    note(*places)
    assert known(*places) == [1.0]
    assert victim.read_text() == "precious"
    assert not list((tmp_path / "open").iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[7]",
        "null",
        '{"salt": 7}',
        '{"accounts": {"x": 7}}',
        '{"accounts": {"x": {"passwords": {"h": {"refused": [1e999]}}}}}',
        '{"accounts": {"x": {"passwords": {"h": {"refused": [], "other_cause": "none"}}}}}',
        "[" * 100_000,
        "\xff",
    ],
)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: str) -> None:
    (tmp_path / FILE).write_bytes(damage.encode("latin-1"))
    note(tmp_path)
    assert known(tmp_path) == [1.0]


def test_what_a_process_that_died_left_behind_its_line_is_ignored(tmp_path: Path) -> None:
    note(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'0, 2.0], "rest of what was there bef')
    assert known(tmp_path) == [1.0]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"STATE_DIRECTORY": "/var/lib/one:/var/lib/two", "HOME": "/home/x"}, "/var/lib/one"),
        ({"HOME": "/home/x"}, "/home/x/.local/state/ase-exporter"),
        ({"HOME": "/home/x", "XDG_STATE_HOME": "/home/x/state"}, "/home/x/state/ase-exporter"),
    ],
)
def test_everything_of_a_user_shares_a_directory(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert shared_directories(environment) == (Path(expected),)


def test_a_process_that_counts_alone_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A command whose user has no home, or a container whose state directory others may write."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    LoginFile([Path("/proc/none"), open_to_all])
    assert f"/proc/none or {open_to_all}: refused logins are counted by this process alone" in caplog.text
    caplog.clear()
    LoginFile([open_to_all, tmp_path])
    LoginFile()
    assert not caplog.text
