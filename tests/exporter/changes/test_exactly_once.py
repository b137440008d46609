"""Killed at random while Grafana misbehaves: every change still reaches it once, in order."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn, Mood
from tests.paths import REPOSITORY
from tests.programs import eventually

CHANGES = 100


class Victim:
    """The journal's process: started, killed, started again."""

    def __init__(self, directory: Path, grafana_url: str) -> None:
        self._directory = directory
        self._grafana_url = grafana_url
        self._token = directory / "token"
        self._token.write_text(f"{TOKEN}\n")
        self._options = directory / "options.json"
        self.set({})
        self._start()

    def set(self, options: dict[str, str]) -> None:
        new = self._options.with_suffix(".new")
        new.write_text(json.dumps({f"option {number:03}": "0" for number in range(CHANGES)} | options))
        new.replace(self._options)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def kill_and_restart(self) -> None:
        self.kill()
        self._start()

    def _start(self) -> None:
        state = self._directory / "state"
        arguments = [str(state), self._grafana_url, str(self._token), str(self._options)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.exporter.changes.journal_process", *arguments],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": "exporter:."},
            stderr=subprocess.DEVNULL,
        )


@pytest.mark.timeout(400)
def test_each_change_reaches_grafana_once_and_in_order(grafana: GrafanaStandIn, tmp_path: Path) -> None:
    chance = random.Random(7)
    victim = Victim(tmp_path, grafana.url)
    baseline = tmp_path / "state" / "changes.db"
    moods: list[Mood] = ["500", "401", "hang", "hang_then_store", "store_then_500", "store_then_drop"]
    changed: dict[str, str] = {}
    kills = 0
    # The first snapshot is the baseline: it must be saved before anything changes.
    eventually("the baseline", lambda: _count(baseline, "snapshots") == 1)
    for number in range(CHANGES):
        changed[f"option {number:03}"] = "1"
        victim.set(changed)
        if number % 12 == 5:
            grafana.mood = chance.choice(moods)
        if number % 12 == 11:
            grafana.mood = "ok"
        if number == CHANGES // 2:
            with grafana.down():
                time.sleep(0.3)
        if number % 9 == 8:
            time.sleep(chance.uniform(0, 0.6))
            victim.kill_and_restart()
            kills += 1
        time.sleep(0.03)
    grafana.mood = "ok"
    eventually("all changes", lambda: len(set(grafana.texts())) == CHANGES, 120)
    eventually("an empty queue", lambda: _count(baseline, "posts") == 0)
    victim.kill()
    assert kills >= 10
    names = [text.split(":")[0].removeprefix("option ") for text in grafana.texts()]
    assert names == sorted(f"option {number:03}" for number in range(CHANGES))


def _count(database: Path, table: str) -> int:
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return -1
