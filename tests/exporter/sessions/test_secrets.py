"""Secrets planted in statements and in names of programs and logins: no metric, log, page, capture or incident has
them."""

import asyncio
import logging
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.capture.recorded import capture
from tests.exporter.sessions.test_incidents import Server, kept
from tests.exporter.simulated import scrape, scraper_of
from tests.exporter.top.watching import AUTH, HOST, altered, standing

from ase_exporter.capture.file import lines
from ase_exporter.capture.privacy import with_pseudonyms
from ase_exporter.capture.session import Plan
from ase_exporter.config import Module
from ase_exporter.metrics.exposition import render_bytes
from ase_exporter.sessions.incidents import FOLDER
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, TEXT
from ase_exporter.web.session_routes import sessions_page

# The model's statements look for this number.
IN_TEXT, IN_PROGRAM, IN_LOGIN = "4711", "planted7pw", "planted8pw"
WITH_NAMES = Module(
    collectors=dict.fromkeys(("blocking", "open_transactions", "process_activity", "sessions"), True)
)


def test_a_secret_in_a_statement_a_program_or_a_login_goes_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def plant(content: dict[str, Any]) -> None:
        content["workload"] |= {"users": 200, "think_ms": 5, "program": f"shop --password {IN_PROGRAM}"}
        content["workload"]["login"] = f"clerk:{IN_LOGIN}"
        content["steps"] = [{"name": "busy", "seconds": 3600}]

    caplog.set_level(logging.DEBUG)
    with standing(altered("storm", tmp_path, plant), seed=1) as (server, run):
        scraper = scraper_of((HOST, run.port), AUTH, WITH_NAMES, session_interval=0.0)
        run.ask(partial(server.world.clock.advance, 60))
        sql = run.ask(lambda: [str(row["SQLText"]) for row in server.table("monProcessSQLText")])
        result = scrape(scraper, 60.0, groups=(SESSIONS, STATEMENTS, TEXT))
        scraper.close()
        taken = capture(
            (HOST, run.port), Plan(1, 0.0, everything=True), None, AUTH.user, AUTH.read_password()
        )
    assert any(IN_TEXT in each for each in sql)
    assert result.sessions and any(each.text for each in result.sessions.sessions)
    answering = Server(first=result.sessions)
    asyncio.run(kept(answering, tmp_path))
    (file,) = (tmp_path / FOLDER).iterdir()
    shown = {
        "metrics": render_bytes(result.all_families(False)).decode(),
        "page": sessions_page(["ONE"], "ONE", result.sessions, {"text": "1"}, text_allowed=True),
        "incident": file.read_text(),
        "annotation": answering.annotations[0].describe(),
        "log": caplog.text,
        "capture": "".join(lines(with_pseudonyms(taken, b"key")[0])),
    }
    assert 'program="shop..."' in shown["metrics"] and 'login="clerk:..."' in shown["metrics"]
    assert IN_LOGIN in "".join(lines(taken)) and "where id = ?" in shown["page"]
    assert not [where for where, text in shown.items() if "where id" in text and where != "page"]
    for where, text in shown.items():
        # A counter in a capture may be this number, and the digits of a duration may have it.
        assert not re.search(rf"(?<![\d.]){IN_TEXT}(?!\d)", text) or where == "capture", where
        assert IN_PROGRAM not in text and IN_LOGIN not in text, where
