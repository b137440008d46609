"""Refusals that do not look like one, or arrive too late: none may get a login locked, and outages still end."""

import json
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.exporter.clocks import ShiftedClock, opener
from tests.exporter.running_exporter import PATIENT, RunningExporter, exporter
from tests.faults.login_server import (
    ACCEPTED,
    REFUSED,
    acknowledgement,
    answer,
    login_server,
    message,
)

from ase_exporter.ase.login_ledger import HOURLY, LOGIN_ATTEMPTS
from ase_exporter.ase.timing import TIMING
from ase_exporter.catalogue import load_catalogue
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper

CATALOGUE, _ = load_catalogue()
NO_PAUSE = replace(TIMING, login_pause=(0.0, 0.0))
SCRAPES = 8

FAILED = message(4002, 14, "Login failed.\n")
UNRECOGNISED = {
    "another error beside it": answer(acknowledgement(6), FAILED, message(9999, 16, "Also wrong.\n")),
    "another error alone": answer(acknowledgement(6), message(10330, 14, "Permission denied.\n")),
    "of a low severity": answer(acknowledgement(6), message(4002, 10, "Login failed.\n")),
    "no message": answer(acknowledgement(6)),
    "cut off": REFUSED[:20],
    "no TDS": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "nothing": b"",
}


def scraper(port: int, clock: ShiftedClock | None = None, *, connect_timeout: float = 60.0) -> TargetScraper:
    target = Target(name="ONE", host="127.0.0.1", port=port)
    auth = Auth(user="monitor", password="planted-wrong")
    scrape = Scrape(connect_timeout=connect_timeout, budget=None)
    if clock is None:
        return TargetScraper(target, auth, Module(), scrape, CATALOGUE, timing=NO_PAUSE)
    return TargetScraper(
        target, auth, Module(), scrape, CATALOGUE,
        timing=NO_PAUSE, clock=clock.clock, open_connection=opener(clock.clock),
    )  # fmt: skip


def kind(one: TargetScraper, clock: ShiftedClock | None = None) -> str:
    """The error of one scrape, '' if it reached the server."""
    monotonic = clock.monotonic if clock else time.monotonic
    one.scrape(result := ScrapeResult(monotonic() + 60))
    return "" if result.summary.up else result.error_kind


@pytest.mark.parametrize("reply", UNRECOGNISED.values(), ids=UNRECOGNISED)
def test_a_login_refused_in_any_form_is_an_attempt(reply: bytes) -> None:
    clock = ShiftedClock()
    with login_server(reply) as server:
        one = scraper(server.port, clock)
        kinds = [kind(one, clock) for _ in range(SCRAPES)]
        assert server.logins == LOGIN_ATTEMPTS
        assert kinds[LOGIN_ATTEMPTS:] == ["login_suspended"] * (SCRAPES - LOGIN_ATTEMPTS)
        # It may have been something else, so it is not given up.
        clock.ahead += HOURLY + 1
        kind(one, clock)
        assert server.logins == LOGIN_ATTEMPTS + 1
        one.close()


def test_a_login_refused_after_the_timeout_is_an_attempt() -> None:
    with login_server() as server:
        one = scraper(server.port, connect_timeout=2.0)
        for attempt in range(1, LOGIN_ATTEMPTS + 1):
            server.may_answer.clear()
            # While the answer is awaited, nothing else is sent.
            assert [kind(one), kind(one)] == ["deadline"] * 2
            assert server.logins == attempt
            server.may_answer.set()
            server.until(ended=attempt)
        assert [kind(one) for _ in range(3)] == ["login_suspended"] * 3
        assert server.logins == LOGIN_ATTEMPTS
        one.close()


def test_a_server_that_hangs_gets_one_login_and_is_asked_again_as_soon_as_it_answers() -> None:
    with login_server(ACCEPTED) as server:
        one = scraper(server.port, connect_timeout=2.0)
        server.may_answer.clear()
        assert [kind(one) for _ in range(4)] == ["deadline"] * 4
        assert server.logins == 1
        server.may_answer.set()
        server.until(ended=1)
        for login in range(2, 5):
            assert kind(one) != "login_suspended"
            assert server.logins == login
        one.close()


@pytest.mark.parametrize("how", ["refused", "dropped", "closing"])
def test_a_server_that_is_down_is_asked_at_each_scrape(how: str) -> None:
    with ExitStack() as stack:
        if how == "dropped":
            listening = stack.enter_context(socket.socket())
            listening.bind(("127.0.0.1", 0))
            listening.listen(0)
            for _ in range(4):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(listening.getsockname())
            port = listening.getsockname()[1]
        else:
            server = stack.enter_context(login_server(ACCEPTED))
            server.closing = how == "closing"
            port = server.port
            if how == "refused":
                with socket.create_server(("127.0.0.1", 0)) as gone:
                    port = gone.getsockname()[1]
        one = scraper(port, connect_timeout=2.0)
        kinds = [kind(one) for _ in range(LOGIN_ATTEMPTS + 2)]
        assert "login_suspended" not in kinds and "" not in kinds
        if how == "closing":
            server.closing = False
            kind(one)
            assert server.logins == 1
        one.close()


def configuration(port: int, *hosts: str, workers: int = 1, **scrape: str) -> str:
    targets = [{"name": f"T{number}", "host": host, "port": port} for number, host in enumerate(hosts)]
    return json.dumps(
        {
            "targets": targets,
            "auth": {"default": {"user": "monitor", "password": "planted-wrong"}},
            "scrape": PATIENT | scrape,
            "workers": workers,
        }
    )


def probe(running: RunningExporter, target: str = "T0") -> str:
    return httpx2.get(f"{running.url}/probe?target={target}", trust_env=False, timeout=90).text


def test_an_unanswered_login_counts_when_its_worker_dies_or_the_exporter_is_killed(tmp_path: Path) -> None:
    with login_server() as server:
        server.may_answer.clear()
        options = [f"--state-dir={tmp_path / 'state'}"]
        settings = configuration(server.port, "127.0.0.1", connect_timeout="2s")
        with exporter(tmp_path, settings, options) as running:
            assert 'reason="deadline"' in probe(running)
            assert server.logins == 1
            (worker,) = running.processes()[1:]
            worker.send_signal(signal.SIGKILL)
            running.wait_for("starting another")
            while 'reason="deadline"' not in probe(running):
                pass
            assert server.logins == LOGIN_ATTEMPTS
            running.process.kill()
        for _ in range(2):
            with exporter(tmp_path, settings, options) as running:
                assert 'reason="login_suspended"' in probe(running)
        assert server.logins == LOGIN_ATTEMPTS


def test_names_and_addresses_of_one_server_count_together(tmp_path: Path) -> None:
    hosts = ("127.0.0.1", "localhost", "127.1", "0x7f.1")
    with login_server() as server:
        settings = configuration(server.port, *hosts, workers=len(hosts))
        with exporter(tmp_path, settings) as running, ThreadPoolExecutor(len(hosts)) as callers:
            for _ in range(3):
                list(callers.map(lambda number: probe(running, f"T{number}"), range(len(hosts))))
            assert 1 <= server.logins <= LOGIN_ATTEMPTS


def test_restarts_of_the_exporter_do_not_get_a_login_locked(tmp_path: Path) -> None:
    with login_server() as server:
        for _ in range(LOGIN_ATTEMPTS + 2):
            state = f"--state-dir={tmp_path / 'state'}"
            with exporter(tmp_path, configuration(server.port, "127.0.0.1"), [state]) as running:
                assert "\nase_up 0.0\n" in probe(running)
        assert 1 <= server.logins <= LOGIN_ATTEMPTS
