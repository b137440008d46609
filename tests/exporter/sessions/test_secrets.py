"""Secrets planted in statements and in the arguments of programs: no metric, log, page or incident has them."""

import logging
from functools import partial
from pathlib import Path

import pytest
import yaml
from tests.exporter.simulated import scrape, scraper_of
from tests.exporter.top.watching import AUTH, HOST, SCENARIOS
from tests.simulator.tds.running import running

from ase_exporter.metrics.exposition import render_bytes
from ase_exporter.sessions.incidents import FOLDER, Incidents
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, TEXT
from ase_exporter.web.session_routes import sessions_page
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation

# The model's statements look for this number.
IN_TEXT, IN_PROGRAM = "4711", "planted7pw"


def test_a_secret_in_a_statement_or_a_program_goes_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = yaml.safe_load((SCENARIOS / "storm.yaml").read_text())
    content["workload"] |= {"users": 200, "think_ms": 5, "program": f"shop --password {IN_PROGRAM}"}
    content["steps"] = [{"name": "busy", "seconds": 3600}]
    file = tmp_path / "planted.yaml"
    file.write_text(yaml.safe_dump(content))
    (server,) = load_scenario(str(file), speed=0, seed=1)
    assert isinstance(server, SimulatedServer)
    caplog.set_level(logging.DEBUG)
    with running(lambda: simulation(server, None, HOST, 0)) as run:
        scraper = scraper_of((HOST, run.port), AUTH, session_interval=0.0)
        run.ask(partial(server.world.clock.advance, 60))
        sql = run.ask(lambda: [str(row["SQLText"]) for row in server.table("monProcessSQLText")])
        result = scrape(scraper, 60.0, groups=(SESSIONS, STATEMENTS, TEXT))
        scraper.close()
    assert any(IN_TEXT in each for each in sql)
    assert result.sessions and any(each.text for each in result.sessions.sessions)
    Incidents(tmp_path, 3).keep("ONE", "BLOCKED", result.sessions, {}, {})
    (kept,) = (tmp_path / FOLDER).iterdir()
    shown = {
        "metrics": render_bytes(result.all_families(False), openmetrics=False).decode(),
        "page": sessions_page(["ONE"], "ONE", result.sessions, {"text": "1"}, text_allowed=True),
        "incident": kept.read_text(),
        "log": caplog.text,
    }
    assert 'program="shop..."' in shown["metrics"] and "where id = ?" in shown["page"]
    assert "where id" not in shown["incident"] and "where id" not in shown["metrics"]
    for where, text in shown.items():
        assert IN_TEXT not in text and IN_PROGRAM not in text, where
