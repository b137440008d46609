"""`ase-exporter write rules|dashboards|sql|config` writes what the repository maintains."""

import re
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.paths import REPOSITORY

from ase_exporter.commands import write


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
    result = run("write", command, "--output", str(directory))
    assert (result.returncode, result.stderr) == (0, "")
    written = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert written == {path.name: path.read_bytes() for path in (REPOSITORY / maintained).iterdir()}
    assert result.stdout.splitlines() == [str(directory / name) for name in sorted(written)]


def test_a_reader_of_the_names_who_leaves_costs_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(write, "print", gone, raising=False)
    with pytest.raises(BrokenPipeError):
        write.sql(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"create_login.sql", "enable_monitoring.sql"}


def test_files_of_an_older_version_are_replaced_and_others_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "create_login.sql").write_text("old")
    (tmp_path / "mine.sql").write_text("mine")
    assert run("write", "sql", "--output", str(tmp_path)).returncode == 0
    assert "sp_addlogin" in (tmp_path / "create_login.sql").read_text()
    assert (tmp_path / "mine.sql").read_text() == "mine"


def test_rules_with_thresholds_of_ones_own(run: Run, tmp_path: Path) -> None:
    settings = [
        "data_cache=0.15",
        "spinlock.hold=10m",
        "links.runbooks=https://wiki/ase",
        "spinlock.min_engine_share=2e-5",
    ]
    result = run(
        "write", "rules", "--output", str(tmp_path / "a" / "b"), *(f"--set={each}" for each in settings)
    )
    assert (result.returncode, result.stderr) == (0, "")
    written = {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()}
    assert written.keys() == {path.name for path in (REPOSITORY / "alerts" / "rules").iterdir()}
    text = written["spinlocks.alerts.yaml"]
    assert 'ase:spinlock_contention:ratio_irate1m{class="data_cache"} > 0.15' in text
    assert "[10m]" in text
    assert "https://wiki/ase/AseSpinlockContention.md" in text
    assert "> 2e-05" in text


def test_boards_with_thresholds_of_ones_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("data_cache: 15%\nlimits: [{server: BILLING, space.warning: 80%}]\n")
    output = tmp_path / "boards"
    result = run("write", "dashboards", f"--thresholds={tmp_path / 'mine.yaml'}", "--output", str(output))
    assert (result.returncode, result.stderr) == (0, "")
    shipped = {path.name: path.read_text() for path in (REPOSITORY / "dashboards" / "json").iterdir()}
    wanted = re.compile(r'("value": )0\.1(,\s+"color": "orange",\s+"parameter": "spinlock.cache_warning")')
    assert len(wanted.findall(shipped["ase-contention.json"])) > 3
    assert {path.name: path.read_text() for path in output.iterdir()} == {
        name: wanted.sub(r"\g<1>0.15\2", text) for name, text in shipped.items()
    }
