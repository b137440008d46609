"""`ase-exporter rules|dashboards|sql|config` writes what the repository maintains."""

from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.paths import REPOSITORY


@pytest.mark.parametrize(
    ("command", "maintained"),
    [
        ("rules", "alerts/rules"),
        ("dashboards", "dashboards/json"),
        ("sql", "deploy/sql"),
        ("config", "deploy/config"),
    ],
)
def test_the_files_are_those_of_the_repository(
    run: Run, tmp_path: Path, command: str, maintained: str
) -> None:
    directory = tmp_path / "new" / "directory"
    result = run(command, "--to", str(directory))
    assert (result.returncode, result.stderr) == (0, "")
    written = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert written == {path.name: path.read_bytes() for path in (REPOSITORY / maintained).iterdir()}
    assert result.stdout.splitlines() == [str(directory / name) for name in sorted(written)]


def test_files_of_an_older_version_are_replaced_and_others_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "create_login.sql").write_text("old")
    (tmp_path / "mine.sql").write_text("mine")
    assert run("sql", "--to", str(tmp_path)).returncode == 0
    assert "sp_addlogin" in (tmp_path / "create_login.sql").read_text()
    assert (tmp_path / "mine.sql").read_text() == "mine"


def test_a_directory_that_cannot_be_written_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("rules", "--to", str(tmp_path / "file"))
    assert result.returncode == 2
    assert result.stderr == f"ase-exporter: rules: --to {tmp_path}/file: {tmp_path}/file: File exists\n"
