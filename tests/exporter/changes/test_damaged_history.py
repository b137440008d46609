"""A history that is damaged, or cannot be written, costs what it holds; the exporter starts without it."""

import asyncio
import random
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from tests.exporter.changes.option_snapshots import snapshot_of
from tests.exporter.running_exporter import exporter
from tests.programs import START, eventually, eventually_here

from ase_exporter.assets import load_yaml
from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.store import FILE, ChangeFilter, open_store
from ase_exporter.config.changes import ChangesConfig

DAMAGE = load_yaml(Path(__file__).with_name("damage.yaml").read_text(encoding="utf-8"))
MANY = 200


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with changes of two targets, in a state directory."""
    directory = tmp_path_factory.mktemp("written")
    store, now = open_store(directory), time.time()
    for number in range(MANY):
        made = Change(new_id(), "PROD", "option", f"option {number}", "1", "2", now, now - 60, who="sa")
        store.record("PROD", now, b"x" * 100, [made])
    note = Change(new_id(), "", ANNOTATION, "patch", "", "", now, None, tags=("maintenance",))
    store.add(note)
    store.close()
    return directory


@pytest.fixture
def state(tmp_path: Path, written: Path) -> Path:
    """A copy of that state directory."""
    return Path(shutil.copytree(written, tmp_path / "state"))


def work_with(directory: Path) -> list[Change]:
    """Start a journal on the directory, use it, and return what it finds."""
    found: list[Change] = []

    async def story() -> None:
        journal = Journal(ChangesConfig(), directory)
        await journal.start()
        journal.on_snapshot("PROD", snapshot_of({"a": "1"}))
        await eventually_here(
            "saved", lambda: not journal._pending and not journal._unsaved and journal.store_ok
        )
        found.extend(await journal.find(ChangeFilter()))
        assert not [task for task in journal._tasks if task.done()]
        await journal.stop()

    asyncio.run(story())
    return found


@pytest.mark.parametrize(("damage", "left"), DAMAGE)
def test_a_row_that_cannot_be_read_costs_itself(state: Path, damage: str, left: int) -> None:
    with sqlite3.connect(state / FILE) as database:
        database.executescript(damage)
    database.close()
    assert len(work_with(state)) == left
    assert len(work_with(state)) == left


@pytest.mark.parametrize("seed", range(15))
def test_any_damaged_byte_costs_no_more_than_the_history(state: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray((state / FILE).read_bytes())
    for _ in range(chance.choice((1, 1, 8, 64))):
        # The first pages hold the schema.
        at = chance.randrange(chance.choice((100, 8192, len(data))))
        data[at] ^= 1 << chance.randrange(8)
    (state / FILE).write_bytes(data)
    work_with(state)


@pytest.mark.slow
def test_a_state_directory_that_is_full_does_not_keep_the_exporter_from_starting(tmp_path: Path) -> None:
    state = tmp_path / "state"
    full: Callable[[], None] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 1 << 30))  # noqa: E731
    options = [f"--state-dir={state}"]
    with exporter(tmp_path, "host: {}\n", options, before=full) as running:
        metrics = f"{running.url}/metrics"
        shown = httpx2.get(metrics, trust_env=False, timeout=60).text
        assert "ase_exporter_change_store_up 0.0" in shown
        running.wait_for("state directory: ")
        for process in running.processes():
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        up = "ase_exporter_change_store_up 1.0"
        # The store is tried again after a pause.
        eventually(up, lambda: up in httpx2.get(metrics, trust_env=False, timeout=60).text, START)
    assert (state / FILE).stat().st_size > 0
