"""Refused logins, and a sp_sysmon that clears counters, are remembered by the processes that come after."""

import json
import random
import stat
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import run

from ase_exporter.ase.login_backoff import DIRECTORY_RETRY, LOGIN_ATTEMPTS, LoginBackoffs, next_backoff
from ase_exporter.clock import SYSTEM_CLOCK
from ase_exporter.config import Auth, Config, Target
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.sysmon.runner import SysmonRunner
from ase_exporter.workers.backoff_file import FILE, BackoffFile
from ase_exporter.workers.backoff_register import BackoffRegister
from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Message
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

TARGET = Target(name="ONE", host="db.example", port=5000)
CONFIG = Config(targets=(TARGET,), auth={"default": Auth(user="monitor", password="planted-wrong")})


def refused(times: int) -> LoginBackoffs:
    backoff = None
    for _ in range(times):
        backoff = next_backoff(backoff, "planted-wrong", SYSTEM_CLOCK.monotonic(), 30)
    return LoginBackoffs(backoff)


def test_a_refused_password_is_known_after_a_restart_and_not_written(tmp_path: Path) -> None:
    BackoffRegister(CONFIG, file=BackoffFile(tmp_path)).note(TARGET, refused(LOGIN_ATTEMPTS), up=False)
    written = tmp_path / FILE
    assert "planted-wrong" not in written.read_text()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    after = BackoffRegister(CONFIG, file=BackoffFile(tmp_path))
    backoff = after.of(TARGET).scrape
    assert backoff is not None
    now = SYSTEM_CLOCK.monotonic()
    assert "waiting for a new password" in backoff.forbids("planted-wrong", now)
    assert not backoff.forbids("another", now)
    # A third refusal, after a restart, counts on.
    assert next_backoff(backoff, "planted-wrong", 0.0, 0.0).times == LOGIN_ATTEMPTS + 1
    after.note(TARGET, LoginBackoffs(), up=True)
    assert json.loads(written.read_text()) == []
    assert BackoffRegister(CONFIG, file=BackoffFile(tmp_path)).of(TARGET).scrape is None


def test_a_directory_is_still_tried_every_hour_after_a_restart(tmp_path: Path) -> None:
    now = SYSTEM_CLOCK.monotonic()
    backoff = None
    for _ in range(LOGIN_ATTEMPTS):
        backoff = next_backoff(backoff, "planted-wrong", now, 30, directory=True)
    BackoffRegister(CONFIG, file=BackoffFile(tmp_path)).note(TARGET, LoginBackoffs(backoff), up=False)
    after = BackoffRegister(CONFIG, file=BackoffFile(tmp_path)).of(TARGET).scrape
    assert after is not None
    assert "every hour" in after.forbids("planted-wrong", now + DIRECTORY_RETRY - 60)
    assert not after.forbids("planted-wrong", now + DIRECTORY_RETRY + 60)


@pytest.mark.parametrize("text", ["", "{", "[7]", '[{"host": "x"}]', "null", "\xff", "[" * 100_000])
def test_a_damaged_file_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("latin-1"))
    register = BackoffRegister(CONFIG, file=BackoffFile(tmp_path))
    assert register.of(TARGET) == LoginBackoffs()
    register.note(TARGET, refused(1), up=False)
    assert len(json.loads((tmp_path / FILE).read_text())) == 1


@pytest.mark.parametrize("stored", ["salt:\\u00e9", "\\ud800:hash", "salt:\\udfff", "", ":"])
def test_a_damaged_hash_is_of_no_password(tmp_path: Path, stored: str) -> None:
    BackoffRegister(CONFIG, file=BackoffFile(tmp_path)).note(TARGET, refused(LOGIN_ATTEMPTS), up=False)
    (entry,) = json.loads((tmp_path / FILE).read_text())
    entry["password"] = json.loads(f'"{stored}"')
    (tmp_path / FILE).write_text(json.dumps([entry]))
    backoff = BackoffRegister(CONFIG, file=BackoffFile(tmp_path)).of(TARGET).scrape
    assert backoff is not None
    assert not backoff.forbids("planted-wrong", SYSTEM_CLOCK.monotonic())


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
                answer = httpx.get(f"{running.url}/probe?target=ONE", trust_env=False, timeout=90)
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
    register = BackoffRegister(CONFIG)
    register.note(target, LoginBackoffs(sysmon_halted=first.halted), up=True)
    # After a reload.
    backoffs = BackoffRegister(CONFIG, register).of(target)
    assert backoffs.sysmon_halted
    after = SysmonRunner(target, CONFIG.auth["default"], settings, halted=backoffs.sysmon_halted)
    after.start()
    assert not [thread for thread in threading.enumerate() if thread.name == "sysmon ONE"]
