"""A report on a state directory shows what incidents hold, and says what no state directory does."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.report.test_report import addresses, text_of
from tests.exporter.web.test_session_routes import BLIND, EVIL, RUNNING, SNAPSHOT

from ase_exporter.errors import UserError
from ase_exporter.report.incident_report import NOT_KEPT, state_page
from ase_exporter.sessions.incidents import Incidents


def keep(directory: Path, target: str) -> None:
    """Two incidents, half an hour apart: in the second nobody is blocked any more."""
    kept = Incidents(directory, 9)
    kept.keep(target, EVIL, SNAPSHOT, {"account": {"lock": 4.0, "cpu": 1.0}})
    later = replace(SNAPSHOT, at=SNAPSHOT.at + 1800, sessions=(RUNNING,))
    kept.keep(target, "SPINS", later, {"account": {"cpu": 3.0}})


def test_tables_are_those_of_the_incidents(run: Run, tmp_path: Path) -> None:
    keep(tmp_path, "ONE")
    output = tmp_path / "page.html"
    done = run("report", "--state-dir", str(tmp_path), "--output", str(output))
    assert done.returncode == 0, done.stderr
    page = output.read_text(encoding="utf-8")
    shown = text_of(page)
    assert EVIL not in page and addresses(page) == set() and RUNNING.text not in page
    # The account is the mean of both; of statements, both minutes are summed.
    for part in (
        "cpu 2",
        "lock 2",
        "waiting for a lock 1",
        "new_order shop 40.0 3.0 18.0 36,000",
        "exclusive row",
    ):
        assert part in shown, part
    assert shown.index("SPINS") < shown.index("Load") < shown.index("Waits") < shown.index("Blocking")
    # Load, I/O, errors and space.
    assert shown.count(f"Not known: {NOT_KEPT}") == 4 and "no history of changes" in shown


def test_moments_without_sessions_count_for_nothing(tmp_path: Path) -> None:
    kept = Incidents(tmp_path, 9)
    kept.keep("ONE", "SPINS", BLIND, {})
    shown = text_of(state_page(tmp_path, ""))
    # Waits, objects and blocking.
    assert shown.count("Not known: the login lacks mon_role.") == 3 and "Nobody" not in shown
    kept.keep("ONE", "SPINS", SNAPSHOT, {})
    assert "waiting for a lock 2" in text_of(state_page(tmp_path, ""))


def test_it_is_about_one_server(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="incidents that serve has kept"):
        state_page(tmp_path, "")
    keep(tmp_path, "ONE")
    keep(tmp_path, "TWO")
    with pytest.raises(UserError, match="--target, one of ONE, TWO"):
        state_page(tmp_path, "")
    assert "TWO" in state_page(tmp_path, "TWO")
    with pytest.raises(UserError, match="expected the directory"):
        state_page(tmp_path / "none", "")


@pytest.mark.parametrize(
    "more", [["--fleet"], ["--prometheus", "http://127.0.0.1:9"], ["--recording", "x.gz"]]
)
def test_a_state_directory_is_read_alone(run: Run, tmp_path: Path, more: list[str]) -> None:
    done = run("report", "--state-dir", str(tmp_path), *more)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "is read alone" in done.stderr
