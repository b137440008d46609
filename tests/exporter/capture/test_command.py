"""The commands `capture` and `ase-simulator --replay`, as users run them."""

from pathlib import Path

from tests.exporter.capture.recorded import FOLDER, replay
from tests.exporter.commands.command_line import Run
from tests.exporter.simulated import PASSWORD
from tests.simulator.test_cli import simulator

from ase_exporter.capture.file import load
from ase_simulator.replay.file import read_capture

EXAMPLE = FOLDER / "16.0-sp04-idle-sa.capture.gz"


def environment(port: int, password: str) -> dict[str, str]:
    return {"ASE_HOST": "127.0.0.1", "ASE_PORT": str(port), "ASE_USER": "sa", "ASE_PASSWORD": password}


def test_capture_writes_a_file_and_a_summary_without_names(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "mine.capture.gz"
    with replay(read_capture(EXAMPLE)) as (_, port):
        ended = run(
            "capture", f"--output={out}", "--scrapes=2", "--interval=1", **environment(port, PASSWORD)
        )
    assert ended.returncode == 0, ended.stderr
    assert "scrape 2 of 2" in ended.stderr
    assert "words replaced by pseudonyms" in ended.stderr
    assert f"written: {out}" in ended.stderr
    assert ended.stdout == ""
    assert load(out).header.names == "pseudonyms"


def test_the_simulator_replays_a_capture_to_check(run: Run) -> None:
    with simulator("--replay", str(EXAMPLE), "--login=sa:secret") as (_, (port,)):
        ended = run("check", **environment(port, "secret"))
    # The login of the example has sa_role, which is more than the exporter needs.
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "ASE 16.0 SP04 PL03\nA scrape has 610 series of the server.\n" in ended.stdout
