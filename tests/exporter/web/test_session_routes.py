"""/sessions: read-only, readable at any width, without text unless it is configured and the caller has logged in."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.exporter.simulated import Simulated
from tests.exporter.web.test_reload import started

from ase_exporter.config import Auth, Config, Scrape, SessionsConfig, Target
from ase_exporter.scraping.result import ScrapeSummary
from ase_exporter.scraping.targets import Answer
from ase_exporter.sessions.session import Session, SessionWait, SessionWaits, Snapshot
from ase_exporter.sessions.sources import PROCESSES, SESSIONS, STATEMENTS, TEXT, waits_of
from ase_exporter.sessions.statements import StatementCost
from ase_exporter.web.session_routes import SessionHandlers

EVIL = "<script>alert(1)</script>"
HEAD = Session(
    7, 1, "sa", "isql", doing="idle", open_seconds=700.0, object="shop..stock", lock="exclusive row"
)
WAITING = [
    Session(
        10 + at,
        1,
        f"user{at}",
        EVIL,
        "app01",
        "shop",
        "UPDATE",
        "lock",
        "waiting for a lock",
        60.0 + at,
        7 + at * 3,
    )
    for at in range(2)
]
RUNNING = Session(
    50, 1, "batch", "loader", doing="cpu", reads=120_000, cpu=3.5, text="select a from t where b = ?"
)
COSTLY = StatementCost("new_order", "shop", None, 10.0, 20.0, 1.5, 9.0, 18_000.0, 4.0, 40.0, 1_795_640_000.0)
WAIT = SessionWait("waiting for a lock", "lock", 7, 90.0, 4.5)
WAITS = SessionWaits(10, 5.0, (WAIT, SessionWait("waiting for input", "idle", None, None, None)))
SNAPSHOT = Snapshot(
    1_795_640_400.0, (*WAITING, RUNNING, HEAD), (COSTLY,), {"objects": "per object statistics active is off"}
)


@dataclass
class Exporter:
    """One that has read a snapshot. asked: the groups that were asked for."""

    shows_statement_text: bool = False
    snapshot: Snapshot | None = SNAPSHOT
    asked: list[tuple[str, ...]] = field(default_factory=list)
    config: Config = field(
        default_factory=lambda: Config(
            targets=(Target(name="ONE", host="127.0.0.1"), Target(name="TWO", host="127.0.0.1")),
            auth={"default": Auth(user="monitor", password="x")},
        )
    )

    async def sessions(self, target: str, *groups: str) -> Answer:
        self.asked.append((target, *groups))
        shown = self.snapshot if self.snapshot is None or TEXT in groups else self.snapshot.without_text()
        return Answer(b"", ScrapeSummary(error="" if shown else "no route"), shown)


def answer(exporter: Exporter, **parameters: str) -> Response:
    request = Request({"type": "http", "query_string": urlencode(parameters).encode(), "headers": []})
    return asyncio.run(SessionHandlers(exporter).sessions(request))  # type: ignore[arg-type]


def text(response: Response) -> str:
    return bytes(response.body).decode()


def test_the_page_names_blockers_waits_objects_and_statements() -> None:
    exporter = Exporter()
    page = text(answer(exporter, target="ONE"))
    assert exporter.asked == [("ONE", SESSIONS, STATEMENTS)]
    for shown in (
        "shop..stock",
        "exclusive row",
        "40 -&gt; 900 reads each",
        "per object statistics active is off",
        "12 min",
    ):
        assert shown in page
    assert EVIL not in page and "&lt;script&gt;" in page
    assert 'http-equiv="refresh"' in page and RUNNING.text not in page
    assert 'http-equiv="refresh"' not in text(answer(exporter, target="ONE", refresh="0"))
    assert "batch" not in text(answer(exporter, target="ONE", contains="USER1"))


BLIND = replace(SNAPSHOT, sessions=(), missing=dict.fromkeys(PROCESSES, "the login lacks mon_role"))


def test_what_was_not_read_is_not_known() -> None:
    page = text(answer(Exporter(snapshot=BLIND), target="ONE"))
    assert page.count("Not known: the login lacks mon_role.") == 2
    assert "Nobody" not in page and "No session" not in page
    # The last of the sources was read, and was empty.
    empty = replace(BLIND, missing=dict.fromkeys(PROCESSES[:-1], "no permission"))
    page = text(answer(Exporter(snapshot=empty), target="ONE"))
    assert "Nobody is blocked." in page and "No session is at work." in page


def test_a_session_that_is_asked_for_shows_what_it_waited_for() -> None:
    exporter = Exporter(snapshot=replace(SNAPSHOT, waits=(WAITS,)))
    page = text(answer(exporter, target="ONE", spid="10"))
    assert exporter.asked == [("ONE", SESSIONS, STATEMENTS, waits_of(10))]
    for shown in ("What session 10 waited for", "In the last 5 s", "2 min"):
        assert shown in page, shown
    assert "no such session" in text(answer(Exporter(), target="ONE", spid="11"))
    for odd in ("x", "-1", "9" * 40, "²"):
        assert "What session" not in text(answer(exporter, target="ONE", spid=odd))
    assert {each for _, *asked in exporter.asked[1:] for each in asked} == {SESSIONS, STATEMENTS}


def test_of_thousands_of_sessions_those_that_matter_are_listed() -> None:
    busy = [Session(100 + at, 1, "crowd", doing="log", seconds=900.0 - at / 10) for at in range(2000)]
    burning = Session(5000, 1, "report", doing="cpu", seconds=0.0, cpu=70.0)
    many = replace(SNAPSHOT, sessions=(*busy, *WAITING, burning, HEAD))
    exporter = Exporter(snapshot=many)
    page = text(answer(exporter, target="ONE"))
    assert page.count("<tr>") < 100 and "1954 more" in page
    for each in (busy[0], *WAITING, burning, HEAD):
        assert f'spid={each.spid}">{each.spid}<' in page, each
    # A filter keeps the chains of whom it finds whole.
    found = text(answer(exporter, target="ONE", contains="user1"))
    assert "stock" in found and "more:" not in found and "crowd" not in found
    kept = json.loads(text(answer(exporter, target="ONE", format="json")))["snapshot"]
    assert len(kept["sessions"]) == 500 and kept["listed"] == 2004
    assert {7, 10, 11, 100, 5000} <= {each["spid"] for each in kept["sessions"]}


def test_text_needs_the_configuration_and_a_login() -> None:
    refused = answer(Exporter(), target="ONE", text="1")
    assert refused.status_code == 403 and "sessions.statement_text" in text(refused)
    allowed = Exporter(shows_statement_text=True)
    assert RUNNING.text not in text(answer(allowed, target="ONE"))
    assert RUNNING.text in text(answer(allowed, target="ONE", text="1"))
    assert allowed.asked[-1] == ("ONE", SESSIONS, STATEMENTS, TEXT)


def test_json_has_the_same_and_says_what_failed() -> None:
    found = json.loads(text(answer(Exporter(), target="ONE", format="json")))
    assert found["snapshot"]["active"] == {"lock": 2, "cpu": 1} and found["error"] is None
    assert [each["spid"] for each in found["snapshot"]["blocking"]] == [7, 10, 11]
    failed = answer(Exporter(snapshot=None), target="ONE", format="json")
    assert failed.status_code == 503 and json.loads(text(failed))["error"] == "no route"
    assert "Nothing was read: no route" in text(answer(Exporter(snapshot=None), target="TWO"))
    assert answer(Exporter(), target="THREE").status_code == 404


@pytest.mark.anyio
async def test_a_server_is_asked_within_its_budget_and_the_landing_page_keeps_its_scrape(
    server: Simulated,
) -> None:
    scrape = Scrape(timeout=60.0, connect_timeout=60.0)
    config = server.config(sessions=SessionsConfig(statement_text=True), scrape=scrape)
    async with started([config]) as exporter:
        reply = await exporter.sessions("ONE", SESSIONS)
        assert reply.sessions is not None, reply.summary.error
        # Without a web configuration nobody can log in, so nobody sees text.
        assert not exporter.shows_statement_text
        assert exporter.targets.states["ONE"].summary is None
