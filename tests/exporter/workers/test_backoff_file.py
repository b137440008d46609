"""Refused logins, and a sp_sysmon that clears counters, are remembered by the processes that come after."""

import json
import random
import stat
import threading
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import run

from ase_exporter.ase.login_backoff import HOURLY, LOGIN_ATTEMPTS, Account, LoginBackoffs, Permit
from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth, Config, Target
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.scraping.summary import ScrapeSummary
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.workers.backoff_file import FILE, BackoffFile
from ase_exporter.workers.loading import Loaded
from ase_exporter.workers.messages import ScrapeReply
from ase_exporter.workers.pool import WorkerPool
from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Message
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

TARGET = Target(name="ONE", host="db.example", port=5000)
CONFIG = Config(targets=(TARGET,), auth={"default": Auth(user="monitor", password="planted-wrong")})


WRONG = "planted-wrong"
ACCOUNTS = frozenset({Account("db.example", 5000, "monitor"), Account("192.0.2.1", 5000, "monitor")})
NO_PAUSE = replace(TIMING, login_pause=(0.0, 0.0))


def started(directory: Path, clock: Clock = SYSTEM_CLOCK) -> LoginBackoffs:
    """What a new process knows."""
    file = BackoffFile(directory)
    return LoginBackoffs(file.load(), file.save, clock, NO_PAUSE)


def asked(backoffs: LoginBackoffs, password: str = WRONG, accounts: frozenset[Account] = ACCOUNTS) -> Permit:
    permit = backoffs.begin(accounts, password)
    assert permit is not None
    return permit


def refused(directory: Path, times: int, *, of_directory: bool = False) -> None:
    backoffs = started(directory)
    for _ in range(times):
        backoffs.note(asked(backoffs).number, "refused", directory=of_directory)


def test_a_refused_password_is_known_after_a_restart_and_not_written(tmp_path: Path) -> None:
    refused(tmp_path, LOGIN_ATTEMPTS)
    written = tmp_path / FILE
    assert WRONG not in written.read_text()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    after = started(tmp_path)
    # By any of its names.
    for account in ACCOUNTS:
        assert "waiting for a new password" in asked(after, WRONG, frozenset({account})).denied
    another = asked(after, "another")
    assert not another.denied
    after.note(another.number, "accepted")
    assert "waiting for a new password" in asked(after).denied


def test_a_password_that_is_accepted_after_a_restart_is_forgotten(tmp_path: Path) -> None:
    refused(tmp_path, 1)
    after = started(tmp_path)
    after.note(asked(after).number, "accepted")
    assert json.loads((tmp_path / FILE).read_text()) == []


def test_a_damaged_answer_suspends_no_password_that_was_accepted(tmp_path: Path) -> None:
    backoffs = started(tmp_path)
    backoffs.note(asked(backoffs).number, "accepted")
    for _ in range(LOGIN_ATTEMPTS + 1):
        backoffs.note(asked(backoffs).number, "unknown")
    for _ in range(LOGIN_ATTEMPTS):
        backoffs.note(asked(backoffs).number, "refused")
    assert "waiting for a new password" in asked(backoffs).denied


def test_a_second_refused_login_after_a_restart_counts_on(tmp_path: Path) -> None:
    for _ in range(LOGIN_ATTEMPTS):
        refused(tmp_path, 1)
    assert "waiting for a new password" in asked(started(tmp_path)).denied


@pytest.mark.parametrize("why", ["of_directory", "unknown", "unanswered"])
def test_what_may_not_be_the_password_is_still_tried_every_hour_after_a_restart(
    tmp_path: Path, why: str
) -> None:
    backoffs = started(tmp_path)
    for _ in range(LOGIN_ATTEMPTS):
        number = asked(backoffs).number
        if why == "of_directory":
            backoffs.note(number, "refused", directory=True)
        else:
            backoffs.note(number, "unknown")
    if why == "unanswered":
        # The process ends before the answer comes.
        (tmp_path / FILE).unlink()
        backoffs = started(tmp_path)
        backoffs.note(asked(backoffs).number, "unknown")
        backoffs.note(asked(backoffs).number, "unanswered")
    now = SYSTEM_CLOCK.monotonic()
    for ahead, denied in ((HOURLY - 60, "every hour"), (HOURLY + 60, "")):
        clock = Clock(lambda: now + ahead, SYSTEM_CLOCK.time)  # noqa: B023  # called within the loop
        file = BackoffFile(tmp_path)
        assert denied in asked(LoginBackoffs(file.load(), clock=clock)).denied
        assert bool(asked(LoginBackoffs(file.load(), clock=clock)).denied) == bool(denied)


@pytest.mark.parametrize("text", ["", "{", "[7]", '[{"host": "x"}]', "null", "\xff", "[" * 100_000])
def test_a_damaged_file_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("latin-1"))
    assert not asked(started(tmp_path)).denied
    refused(tmp_path, 1)
    assert len(json.loads((tmp_path / FILE).read_text())) == len(ACCOUNTS)


@pytest.mark.parametrize("stored", ["salt:\\u00e9", "\\ud800:hash", "salt:\\udfff", "", ":"])
def test_a_damaged_hash_is_of_no_password(tmp_path: Path, stored: str) -> None:
    refused(tmp_path, LOGIN_ATTEMPTS)
    entries = json.loads((tmp_path / FILE).read_text())
    for entry in entries:
        entry["password"] = json.loads(f'"{stored}"')
    (tmp_path / FILE).write_text(json.dumps(entries))
    assert not asked(started(tmp_path)).denied


def test_restarts_of_the_exporter_do_not_get_a_login_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins: list[str] = []
    login = SqlBackend.login

    def noting(backend: SqlBackend, request: LoginRequest) -> SqlSession | Message:
        logins.append(request.user)
        return login(backend, request)

    monkeypatch.setattr(SqlBackend, "login", noting)
    with run("16.0 SP04", speed=0.0) as server:
        host, port = server.address
        configuration = json.dumps(
            {
                "targets": [{"name": "ONE", "host": host, "port": port}],
                "auth": {"default": {"user": "monitor", "password": "planted-wrong"}},
                "scrape": PATIENT,
            }
        )
        for _ in range(LOGIN_ATTEMPTS + 2):
            with exporter(tmp_path, configuration, [f"--state-dir={tmp_path / 'state'}"]) as running:
                answer = httpx2.get(f"{running.url}/probe?target=ONE", trust_env=False, timeout=90)
                assert "\nase_up 0.0\n" in answer.text
    assert 1 <= len(logins) <= LOGIN_ATTEMPTS


def test_a_sp_sysmon_that_cleared_counters_stays_off_after_a_reload_or_a_worker_death(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = SysmonSettings(auth="default", interval=60.0, duration=5.0)
    target = replace(TARGET, sysmon=settings)
    first = SysmonRunner(target, CONFIG.auth["default"], settings)
    monkeypatch.setattr(first, "run_once", lambda: "cleared_counters")
    monkeypatch.setattr(random, "uniform", lambda *_: 0.0)
    first._loop()
    assert first.halted
    loaded, halted = Loaded.of(replace(CONFIG, targets=(target,))), set[tuple[str, int]]()
    reply = ScrapeReply(1, b"", ScrapeSummary(), ended=True, sysmon_halted=first.halted, target=target.name)
    WorkerPool(loaded, halted=halted)._note(reply)
    # After a reload.
    assignment = WorkerPool(loaded, halted=halted)._assignment(0)
    assert (target.host, target.port) in assignment.halted
    after = SysmonRunner(target, CONFIG.auth["default"], settings, halted=True)
    after.start()
    assert not [thread for thread in threading.enumerate() if thread.name == "sysmon ONE"]
