"""Refusals are counted together, whatever process, name, spelling or password an attempt has."""

import json
import math
import os
import stat
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.exporter.clocks import ShiftedClock

from ase_exporter.ase import refusals
from ase_exporter.ase.login_ledger import Attempt, LoginLedger, NotAllowedError, Outcome
from ase_exporter.ase.refusals import FILE, MAX_REFUSALS, WINDOW, Account, Refusals, shared_directories
from ase_exporter.ase.timing import TIMING

# Spellings of two servers and a login, as a configuration or -S and -U may have them.
SERVERS = (
    ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"),
    ("127.0.0.1", "::1", "127.0.0.2", "0:0:0:0:0:0:0:1"),
)
USERS = ("monitor", "Monitor", "monitor  ")
ACCOUNT = frozenset({Account.of("192.0.2.1", 5000, "monitor")})
# How a refusal is reported; the last is one after which the process ended.
REFUSED: tuple[Outcome, ...] = ("refused", "dropped", "unknown")


@pytest.fixture(autouse=True)
def machine_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once, and the machine has no addresses but those of loopback."""
    monkeypatch.setattr(TIMING, "login_pause", (0.0, 0.0))
    monkeypatch.setattr(refusals, "_is_here", lambda address: address.is_loopback)


STEPS = st.one_of(
    st.tuples(
        st.just("log in"),
        # The process: an exporter, its replica, or one of several commands.
        st.integers(0, 4),
        st.integers(0, len(SERVERS) - 1),
        st.integers(0, 3),
        st.sampled_from(USERS),
        st.integers(0, 5),
        st.sampled_from((*REFUSED, "unanswered", "accepted", "not_refused", "died")),
    ),
    st.tuples(st.just("wait"), st.sampled_from((1.0, 60.0, WINDOW / 2, WINDOW - 1, WINDOW + 1))),
    st.tuples(st.just("restart"), st.integers(0, 4)),
)


class Machine:
    """An exporter and its replica, with a state directory and the user's, and commands, which have the user's alone."""

    def __init__(self, directory: Path) -> None:
        self.clock = ShiftedClock()
        self._state, self._shared = directory / "state", directory / "user"
        self._ledgers: dict[int, LoginLedger] = {}
        self._refused: dict[int, deque[float]] = {number: deque() for number in range(len(SERVERS))}

    def _ledger(self, process: int) -> LoginLedger:
        if process not in self._ledgers:
            state = self._state if process < 2 else None
            self._ledgers[process] = LoginLedger(state, self.clock.clock, shared=[self._shared])
        return self._ledgers[process]

    def restart(self, process: int) -> None:
        self._ledger(process).close()
        del self._ledgers[process]

    def log_in(self, process: int, server: int, name: int, user: str, password: int, outcome: str) -> None:
        spellings = SERVERS[server]
        accounts = frozenset(
            {
                Account.of(f"name{process}{name}.example", 5000, user),
                Account.of(spellings[name % len(spellings)], 5000, user),
            }
        )
        ledger = self._ledger(process)
        try:
            attempt = ledger.begin(accounts, f"password {password}", self.clock.monotonic())
        except NotAllowedError:
            return
        if outcome in ("accepted", "not_refused"):
            # Only a right password is accepted.
            ledger.end(attempt, "accepted" if outcome == "accepted" and password == 0 else "not_refused")
            return
        if attempt.accepted:
            ledger.end(attempt, "refused")
        elif outcome == "died":
            ledger._refusals.close()
            del self._ledgers[process]
        elif outcome == "unanswered":
            ledger.end(attempt, "unanswered")
            ledger.end(attempt, "refused")
        else:
            ledger.end(attempt, next(each for each in REFUSED if each == outcome))
        self._count(server)

    def _count(self, server: int) -> None:
        now, times = self.clock.monotonic(), self._refused[server]
        times.append(now)
        while times[0] <= now - WINDOW:
            times.popleft()
        assert len(times) <= MAX_REFUSALS

    def close(self) -> None:
        for ledger in self._ledgers.values():
            ledger.close()


def play(steps: list[tuple[Any, ...]]) -> None:
    """Raises AssertionError if an account is refused more often than it may be."""
    with TemporaryDirectory() as directory:
        machine = Machine(Path(directory))
        for name, *arguments in steps:
            if name == "wait":
                machine.clock.ahead += arguments[0]
            elif name == "restart":
                machine.restart(*arguments)
            else:
                machine.log_in(*arguments)
        machine.close()


def play_many(examples: int, phases: Sequence[Phase] = tuple(Phase)) -> None:
    module = "ase_exporter.ase.login_ledger"
    with (
        patch(f"{module}._fingerprint", lambda password, salt: f"{password} {salt}"),
        patch(f"{module}.write_bytes", lambda path, content, mode, **_: path.write_bytes(content)),
    ):
        test = given(st.lists(STEPS, min_size=3, max_size=40))(play)
        settings(max_examples=examples, report_multiple_bugs=False, phases=phases)(test)()


@pytest.mark.parametrize(
    "examples", [60, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_no_history_of_a_machine_has_an_account_refused_three_times_an_hour(examples: int) -> None:
    play_many(examples)


@pytest.mark.parametrize("forgotten", ["note", "hold and forget the file", "Account.of"])
def test_these_histories_find_a_machine_that_forgets(monkeypatch: pytest.MonkeyPatch, forgotten: str) -> None:
    if forgotten == "note":
        monkeypatch.setattr(Refusals, "note", lambda *_: None)
    elif forgotten == "Account.of":
        monkeypatch.setattr(Account, "of", Account)
    else:
        monkeypatch.setattr("ase_exporter.ase.refusals._opened", lambda _: None)
    with pytest.raises(AssertionError):
        play_many(200, [Phase.generate])


def begin(ledger: LoginLedger, clock: ShiftedClock, password: str = "wrong") -> Attempt:
    return ledger.begin(ACCOUNT, password, clock.monotonic())


def test_another_process_waits_until_an_attempt_has_ended(tmp_path: Path) -> None:
    clock = ShiftedClock()
    one, another = (LoginLedger(clock=clock.clock, shared=[tmp_path]) for _ in range(2))
    attempt = begin(one, clock)
    with pytest.raises(NotAllowedError) as denied:
        begin(another, clock)
    assert denied.value.is_busy
    one.end(attempt, "accepted")
    another.end(begin(another, clock), "accepted")
    # Whoever dies lets the others try.
    begin(one, clock)
    one._refusals.close()
    another.end(begin(another, clock), "accepted")


def test_a_login_is_tried_again_if_its_owner_wants(tmp_path: Path) -> None:
    clock = ShiftedClock()
    exporter, command = (LoginLedger(clock=clock.clock, shared=[tmp_path]) for _ in range(2))
    for number in range(MAX_REFUSALS):
        exporter.end(begin(exporter, clock, f"wrong {number}"), "refused")
    with pytest.raises(NotAllowedError, match="check --login-again"):
        begin(exporter, clock, "right")
    command.once_more = True
    command.end(begin(command, clock, "right"), "accepted")
    exporter.end(begin(exporter, clock, "right"), "accepted")


def test_one_server_refuses_and_others_are_tried(tmp_path: Path) -> None:
    clock = ShiftedClock()
    ledger = LoginLedger(clock=clock.clock, shared=[tmp_path])
    for number in range(MAX_REFUSALS):
        ledger.end(begin(ledger, clock, f"wrong {number}"), "refused")
    for other in (Account.of("192.0.2.2", 5000, "monitor"), Account.of("192.0.2.1", 5000, "probe")):
        ledger.end(ledger.begin(frozenset({other}), "right", clock.monotonic()), "accepted")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_its_owner_can_read_the_file_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        Refusals([tmp_path / "new"]).note(ACCOUNT, 1.0, 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / FILE).stat().st_mode) == 0o600
    assert not (tmp_path / "new").stat().st_mode & 0o027


def test_a_link_is_not_followed_and_a_directory_of_everybody_is_not_used(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / FILE).symlink_to(victim)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    Refusals([tmp_path / "linked", tmp_path / "open"]).note(ACCOUNT, 1.0, 1)
    assert victim.read_text() == "precious"
    assert not list((tmp_path / "open").iterdir())


@pytest.mark.parametrize(
    "damage", ["", "{", "[7]", "null", '{"x": 7}', '{"x": [[1, 1e999]]}', "[" * 100_000, "\xff"]
)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: str) -> None:
    (tmp_path / FILE).write_bytes(damage.encode("latin-1"))
    clock = ShiftedClock()
    at = clock.time()
    for _ in range(2):
        Refusals([tmp_path], clock.clock).note(ACCOUNT, at, MAX_REFUSALS)
        assert Refusals([tmp_path], clock.clock).count(ACCOUNT)[0] == MAX_REFUSALS


@pytest.mark.parametrize("at", [math.inf, 1e18, math.nan])
def test_a_clock_that_was_wrong_suspends_a_login_for_an_hour_at_most(tmp_path: Path, at: float) -> None:
    clock = ShiftedClock()
    (tmp_path / FILE).write_text(json.dumps({"monitor@192.0.2.1:5000": [[at, MAX_REFUSALS]]}))
    refusals = Refusals([tmp_path], clock.clock)
    with suppress(KeyError):
        assert refusals.count(ACCOUNT)[0] in (0, MAX_REFUSALS)
    clock.ahead += WINDOW + 1
    assert refusals.count(ACCOUNT)[0] == 0


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"STATE_DIRECTORY": "/var/lib/one:/var/lib/two", "HOME": "/home/x"}, "/var/lib/one"),
        ({"HOME": "/home/x"}, "/home/x/.local/state/ase-exporter"),
        ({"HOME": "/home/x", "XDG_STATE_HOME": "/home/x/state"}, "/home/x/state/ase-exporter"),
    ],
)
def test_everything_of_a_user_shares_a_directory(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert shared_directories(environment) == (Path(expected),)
