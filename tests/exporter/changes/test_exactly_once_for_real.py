"""The real exporter, killed at random while a simulated server is changed 200 times and Grafana misbehaves."""

import json
import random
import re
import time
from pathlib import Path

import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn, Mood
from tests.exporter.changes.serving import Serving
from tests.simulator.tds.running import running

from ase_simulator.model import load_scenario
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend

CHANGES = 200
MOODS: list[Mood] = ["500", "401", "hang", "hang_then_store", "store_then_500", "store_then_drop"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_of_200_changes_of_a_server_reaches_grafana_once_and_in_order(tmp_path: Path) -> None:
    chance = random.Random(11)
    grafana = GrafanaStandIn()
    (tmp_path / "token").write_text(TOKEN)
    (server,) = load_scenario("quiet-oltp", seed=1, speed=1.0, version=None)
    with running(lambda: Listener(SqlBackend(server), "127.0.0.1", 0)) as simulator:
        settings = {"url": grafana.url, "token_file": str(tmp_path / "token"), "timeout": "500ms"}
        exporter = Serving(
            tmp_path,
            json.dumps(
                {
                    "targets": [{"name": "SIM", "host": "127.0.0.1", "port": simulator.port}],
                    "auth": {"default": {"user": "ase_exporter", "password": "exporter"}},
                    "scrape": {"budget": None},
                    "changes": {"interval": "1s", "grafana": settings | {"max_backoff": "500ms"}},
                }
            ),
        )
        assert exporter.wait_until(
            lambda: 'collector_success{collector="changes"} 1' in exporter.get("/probe?target=SIM")
        )
        time.sleep(1)
        kills, number = 0, 0
        values: dict[str, int] = {}
        # Each option is set only once, so that no change can hide another that the exporter was not up to see.
        options = [o for o in server.options() if o.unit != "read-only" and not o.static and not o.text]
        for option in options:
            if number == CHANGES:
                break
            if not _settable(simulator, server, option.name, option.configured, option.maximum):
                continue
            values[option.name] = option.configured + 1
            number += 1
            if number % 15 == 5:
                grafana.mood = chance.choice(MOODS)
            if number % 15 == 14:
                grafana.mood = "ok"
            if number == 100:
                with grafana.down():
                    exporter.get("/probe?target=SIM")
                    time.sleep(1)
            if chance.random() < 0.3:
                exporter.get("/probe?target=SIM")
            if chance.random() < 0.07:
                time.sleep(chance.uniform(0, 0.5))
                exporter.kill()
                kills += 1
                exporter.start()
        grafana.mood = "ok"
        assert number == CHANGES, f"only {number} options can be set"

        def done() -> bool:
            metrics = exporter.get("/metrics")
            return len(set(grafana.texts())) >= CHANGES and "ase_exporter_annotations_queued 0.0" in metrics

        complete = exporter.wait_until(done, 90)
        # Whatever arrived twice is found and deleted a few timeouts later.
        listed = json.loads(exporter.get("/changes?format=json&limit=1000"))
        exporter.wait_until(lambda: len(grafana.annotations) == len(listed), 30)
        exporter.stop()
    print(f"{kills} kills, {len(grafana.annotations)} annotations, {len(grafana.answers)} answers")
    assert kills >= 8
    assert complete
    # Some options (network tasks, for one) resize a thread pool besides.
    posted = [re.sub(r" \(seen at.*|, by .*", "", text) for text in grafana.texts()]
    posted = [text for text in posted if text.startswith("option ")]
    assert sorted(posted) == sorted(f"option {name}: {value - 1} → {value}" for name, value in values.items())
    order = [(change["text"]) for change in reversed(listed)]
    assert grafana.texts() == order
    grafana.close()


def _settable(simulator: object, server: object, name: str, configured: int, maximum: int) -> bool:
    if configured + 1 > maximum or name in ("total data cache size", "current audit table"):
        return False
    try:
        simulator.ask(lambda: server.set_option(name, configured + 1, "sa"))  # type: ignore[attr-defined]
    except Exception:  # the model refuses some values
        return False
    return True
