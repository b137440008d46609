"""The ledger of logins: what it allows, and what outlives the process."""

import math
import mmap
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.exporter.clocks import ShiftedClock

from ase_exporter.ase import login_file, login_ledger
from ase_exporter.ase.login_file import FILE, LoginFile
from ase_exporter.ase.login_ledger import (
    BUSY,
    HOURLY,
    LOGIN_ATTEMPTS,
    Account,
    Attempt,
    LoginLedger,
    NotAllowedError,
    Outcome,
)
from ase_exporter.ase.timing import TIMING

WRONG = "planted-wrong"
ACCOUNTS = frozenset({Account("db.example", 5000, "monitor"), Account("192.0.2.1", 5000, "monitor")})


@pytest.fixture(autouse=True)
def machine_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once, and the machine has no addresses but those of loopback."""
    monkeypatch.setattr(TIMING, "login_pause", 0.0)
    monkeypatch.setattr(login_file, "_is_here", lambda address: address.is_loopback)


class Process:
    """An exporter or a command. Its end is that of a process that dies unless it is stopped."""

    def __init__(
        self, directory: Path | None, clock: ShiftedClock | None = None, memory: mmap.mmap | None = None
    ) -> None:
        self.clock = clock or ShiftedClock()
        self.ledger = LoginLedger([directory] if directory else [], self.clock.clock, memory)

    def die(self) -> None:
        """The system closes its file."""
        self.ledger._file.close()

    def begin(self, password: str = WRONG, accounts: frozenset[Account] = ACCOUNTS) -> Attempt:
        return self.ledger.begin(accounts, password, self.clock.monotonic())

    def denied(self, password: str = WRONG, accounts: frozenset[Account] = ACCOUNTS) -> str:
        """Why an attempt is not allowed; '' if it is, and was ended without a refusal."""
        try:
            self.ledger.end(self.begin(password, accounts), "not_refused")
        except NotAllowedError as error:
            return str(error)
        return ""

    def tried(self, *outcomes: Outcome, password: str = WRONG, of_directory: bool = False) -> None:
        """One attempt, with what is reported of it."""
        attempt = self.begin(password)
        for outcome in outcomes:
            self.ledger.end(attempt, outcome, directory=of_directory)


def refused(directory: Path, times: int = LOGIN_ATTEMPTS) -> None:
    process = Process(directory)
    for _ in range(times):
        process.tried("refused")
    process.ledger.close()


def test_a_refused_password_is_known_after_a_restart_and_not_written(tmp_path: Path) -> None:
    refused(tmp_path)
    assert WRONG not in (tmp_path / FILE).read_text()
    after = Process(tmp_path)
    assert "within an hour" in after.denied("another")
    after.clock.ahead = HOURLY + 1
    for account in ACCOUNTS:
        # By any of its names.
        assert "waiting for a new password" in after.denied(WRONG, frozenset({account}))
    after.tried("accepted", password="another")
    assert "waiting for a new password" in after.denied()


def test_refusals_are_forgotten_once_the_password_is_accepted(tmp_path: Path) -> None:
    for _ in range(LOGIN_ATTEMPTS + 1):
        refused(tmp_path, 1)
        Process(tmp_path).tried("accepted")
    for _ in range(LOGIN_ATTEMPTS):
        refused(tmp_path, 1)
    assert "waiting for a new password" in Process(tmp_path).denied()


def test_a_login_is_accepted_in_between_so_others_of_the_account_may_be_refused_again(tmp_path: Path) -> None:
    """ASE counts failures in a row: syslogins.logincount is reset by a login."""
    process = Process(tmp_path)
    for number in range(6):
        process.tried("refused", password=f"wrong {number}")
        process.tried("accepted", password="right")


def test_a_damaged_answer_suspends_no_password_that_was_accepted() -> None:
    process = Process(None)
    process.tried("accepted")
    for _ in range(LOGIN_ATTEMPTS + 1):
        process.tried("unanswered", "unknown")
    for _ in range(LOGIN_ATTEMPTS):
        process.tried("refused")
    assert "waiting for a new password" in process.denied()


@pytest.mark.parametrize(
    ("outcome", "of_directory"), [("refused", True), ("unknown", False), ("dropped", False)]
)
def test_what_may_not_be_the_password_is_still_tried_every_hour_after_a_restart(
    tmp_path: Path, outcome: Outcome, of_directory: bool
) -> None:
    process = Process(tmp_path)
    for _ in range(LOGIN_ATTEMPTS):
        process.tried(outcome, of_directory=of_directory)
    process.ledger.close()
    for ahead, allowed in ((HOURLY - 60, False), (HOURLY + 60, True)):
        clock = ShiftedClock()
        clock.ahead = ahead
        denied = Process(tmp_path, clock).denied()
        assert denied == "" if allowed else "every hour" in denied


def test_servers_of_one_directory_share_its_hourly_attempt() -> None:
    process = Process(None)
    servers = [frozenset({Account(f"db{number}.example", 5000, "monitor")}) for number in range(3)]

    def asked(hours: int) -> int:
        """How often, if a target of each server tries every five minutes."""
        attempts = 0
        for accounts in servers * 12 * hours:
            process.clock.ahead += 100.0
            with suppress(NotAllowedError):
                process.ledger.end(process.begin(accounts=accounts), "refused", directory=True)
                attempts += 1
        return attempts

    # At each server twice, as any login.
    assert asked(1) == LOGIN_ATTEMPTS * len(servers)
    assert asked(3) == 3
    process.clock.ahead += HOURLY
    for accounts in servers:
        process.ledger.end(process.begin(accounts=accounts), "accepted")


def test_after_a_death_logins_that_were_under_way_are_tried_one_by_one(tmp_path: Path) -> None:
    """A server that crashes the driver at its login must not get the logins of all others suspended."""
    servers = [frozenset({Account(f"db{number}.example", 5000, "monitor")}) for number in range(3)]
    crashing, *others = servers
    first = Process(tmp_path)
    for accounts in servers:
        first.begin("right", accounts)
    first.die()
    for _ in range(LOGIN_ATTEMPTS):
        process = Process(tmp_path)
        with suppress(NotAllowedError):
            process.begin("right", crashing)
            assert [process.denied("right", accounts) for accounts in others] == [BUSY, BUSY]
        process.die()
    process = Process(tmp_path)
    assert "every hour" in process.denied("right", crashing)
    assert [process.denied("right", accounts) for accounts in others] == ["", ""]


def test_a_process_that_dies_suspends_no_password_that_was_accepted(tmp_path: Path) -> None:
    memory = mmap.mmap(-1, 1 << 16)
    for number in range(LOGIN_ATTEMPTS + 2):
        process = Process(tmp_path, memory=memory)
        attempt = process.begin()
        if not number:
            process.ledger.end(attempt, "accepted")
        process.die()


def test_our_own_end_counts_as_no_refusal(tmp_path: Path) -> None:
    for _ in range(LOGIN_ATTEMPTS + 1):
        process = Process(tmp_path)
        process.begin()
        process.ledger.close()
    assert not Process(tmp_path).denied()


def test_attempts_at_one_account_follow_each_other() -> None:
    process = Process(None)
    first = process.begin()
    assert process.denied() == BUSY
    began: list[Attempt] = []
    thread = threading.Thread(
        target=lambda: began.append(process.ledger.begin(ACCOUNTS, WRONG, time.monotonic() + 60))
    )
    thread.start()
    process.ledger.end(first, "not_refused")
    thread.join(60)
    assert len(began) == 1


def test_another_process_waits_until_an_attempt_has_ended(tmp_path: Path) -> None:
    one, another = Process(tmp_path), Process(tmp_path)
    attempt = one.begin()
    with pytest.raises(NotAllowedError) as denied:
        another.begin()
    assert denied.value.is_busy
    one.ledger.end(attempt, "accepted")
    another.tried("accepted")
    # Whoever dies lets the others try.
    one.begin()
    one.die()
    another.tried("accepted")


@pytest.mark.parametrize("passwords", [["wrong", "wrong"], ["wrong", "wrong, too"]])
def test_a_login_is_tried_again_if_its_owner_wants(tmp_path: Path, passwords: list[str]) -> None:
    exporter, command = Process(tmp_path), Process(tmp_path)
    for password in passwords:
        exporter.tried("refused", password=password)
    with pytest.raises(NotAllowedError, match="check --login-again"):
        exporter.begin("wrong")
    command.ledger.once_more = True
    command.tried("accepted", password="wrong")
    exporter.tried("accepted", password="wrong")


def test_one_server_refuses_and_others_are_tried(tmp_path: Path) -> None:
    refused(tmp_path)
    process = Process(tmp_path)
    for other in (Account.of("192.0.2.2", 5000, "monitor"), Account.of("192.0.2.1", 5000, "probe")):
        process.ledger.end(process.begin("right", frozenset({other})), "accepted")


@pytest.mark.parametrize("until", [math.inf, 1e18, math.nan])
def test_a_clock_that_was_wrong_suspends_a_login_for_an_hour_at_most(tmp_path: Path, until: float) -> None:
    refused(tmp_path)
    text = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(re.sub(r'"refused":\[[^]]*\]', f'"refused":[{until},{until}]', text))
    process = Process(tmp_path)
    process.denied("another")
    process.clock.ahead += HOURLY + 1
    assert not process.denied("another")


# Spellings of two servers and a login, as a configuration or -S and -U may have them.
SERVERS = (
    ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"),
    ("127.0.0.1", "::1", "127.0.0.2", "0:0:0:0:0:0:0:1"),
)
# The number of a name that has the addresses of all of them.
OF_ALL = 4
USERS = ("monitor", "Monitor", "monitor  ")
# What is reported of an attempt that the server has refused; it has accepted the others. A password that was accepted
# before is refused in a form that can be recognised, or dropped once it is acknowledged: damaged answers alone suspend
# no such password.
REPORTS: list[tuple[Outcome, ...]] = [
    ("refused",),
    ("dropped",),
    ("unanswered", "refused"),
    ("unanswered", "dropped"),
    ("unknown",),
    ("unanswered", "unknown"),
]
RECOGNISED = 4
# The process: an exporter, its replica, or a command. Which password: the right one, the one before, or another.
PROCESSES, PASSWORDS = st.integers(0, 2), st.sampled_from((0, 1, 1, 2))
ASK = (PROCESSES, st.integers(0, len(SERVERS) - 1), st.integers(0, OF_ALL), st.sampled_from(USERS), PASSWORDS)
FORMS = st.integers(0, len(REPORTS) - 1)
STEPS = st.one_of(
    st.tuples(st.just("log_in"), *ASK, FORMS),
    st.tuples(st.just("log_in"), *ASK, FORMS),
    st.tuples(st.just("ask"), *ASK),
    st.tuples(st.just("end"), PROCESSES, FORMS),
    st.tuples(st.just("find_closed"), PROCESSES),
    st.tuples(st.just("die"), PROCESSES),
    st.tuples(st.just("restart"), PROCESSES),
    st.tuples(st.just("wait"), st.sampled_from((1.0, 60.0, HOURLY / 2, HOURLY + 1))),
    st.tuples(st.just("change password")),
)


class History:
    """A machine whose processes share a directory, and what its servers count.

    right: the number of the right password.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ShiftedClock()
        self.right = 2
        self.memory = defaultdict[int, mmap.mmap](lambda: mmap.mmap(-1, 1 << 16))
        self.processes: dict[int, Process] = {}
        # By process: its attempt, at which server, and which password was sent.
        self.under_way: dict[int, tuple[Attempt, int, int]] = {}
        # Of each server: failures in a row; of each password of one, and whether all were clear.
        self.in_a_row = defaultdict[int, list[float]](list)
        self.refused = defaultdict[tuple[int, int], list[float]](list)
        self.unclear = set[tuple[int, int]]()

    def process(self, number: int) -> Process:
        if number not in self.processes:
            self.processes[number] = Process(self.directory, self.clock, self.memory[number])
        return self.processes[number]

    def ask(self, process: int, server: int, name: int, user: str, password: int) -> None:
        own = f"name{process}{name}.example"
        here = {own, SERVERS[server][name % len(SERVERS[server])]}
        all_of_it = here.union(*SERVERS) if name == OF_ALL else here
        accounts, concerned = (
            frozenset(Account.of(each, 5000, user) for each in names) for names in (all_of_it, here)
        )
        if process not in self.under_way:
            number = self.right - password
            with suppress(NotAllowedError):
                attempt = self.process(process).begin(f"password {number}", accounts)
                attempt.concerned = concerned
                self.under_way[process] = attempt, server, number

    def end(self, process: int, form: int) -> None:
        """The server answers, or does not."""
        if process not in self.under_way:
            return
        attempt, server, password = self.under_way.pop(process)
        ledger = self.process(process).ledger
        if password == self.right:
            self.in_a_row[server].clear()
            self.refused[server, password].clear()
            ledger.end(attempt, "accepted")
            return
        if attempt.accepted:
            form %= RECOGNISED
        self.fail(server, password, unclear=REPORTS[form] != ("refused",))
        for outcome in REPORTS[form]:
            ledger.end(attempt, outcome)

    def log_in(self, process: int, server: int, name: int, user: str, password: int, form: int) -> None:
        self.ask(process, server, name, user, password)
        self.end(process, form)

    def find_closed(self, process: int) -> None:
        """The server is down: no password is sent."""
        if process in self.under_way:
            self.process(process).ledger.end(self.under_way.pop(process)[0], "not_refused")

    def die(self, process: int) -> None:
        """The process dies, and the server has counted its attempt, if it was not of a good password."""
        if process in self.under_way:
            attempt, server, password = self.under_way.pop(process)
            if password != self.right and not attempt.accepted:
                self.fail(server, password, unclear=True)
        self.process(process).die()
        del self.processes[process]

    def restart(self, process: int) -> None:
        """The process ends in good order once its attempt has, and the next one knows what the file says."""
        self.find_closed(process)
        self.process(process).ledger.close()
        del self.processes[process], self.memory[process]

    def fail(self, server: int, password: int, *, unclear: bool) -> None:
        now = self.clock.monotonic()
        in_a_row = self.in_a_row[server] = [at for at in self.in_a_row[server] if at > now - HOURLY]
        in_a_row.append(now)
        assert len(in_a_row) <= LOGIN_ATTEMPTS
        refused, key = self.refused[server, password], (server, password)
        refused.append(now)
        if unclear:
            self.unclear.add(key)
        hours = (now - refused[0]) // HOURLY
        assert len(refused) <= LOGIN_ATTEMPTS + (hours if key in self.unclear else 0)

    def close(self) -> None:
        for process in self.processes.values():
            process.ledger.close()


def right(process: int, name: int = 0, server: int = 0) -> tuple[Any, ...]:
    return ("log_in", process, server, name, "monitor", 0, 0)


def old(process: int, form: int, name: int = 0) -> tuple[Any, ...]:
    return ("log_in", process, 0, name, "monitor", 1, form)


CHANGED = ("change password",)
CLOSED = [("ask", 0, 0, 0, "monitor", 1), ("find_closed", 0)]
KNOWN = (
    [right(0), CHANGED, old(0, 1), old(0, 1), old(0, 1)],
    [right(0), CHANGED, old(0, 1), old(0, 4), old(0, 4)],
    # Refused by one name, and then in no form that can be recognised by another one.
    [right(1, 1), CHANGED, old(0, 0), old(1, 4, 1), old(0, 0)],
    [CHANGED, old(0, 4), *CLOSED, old(0, 4), *CLOSED, old(0, 4)],
    # Another address of a name accepts what this server refuses.
    [old(0, 0), right(1, OF_ALL, 1), ("log_in", 0, 0, 1, "monitor", 2, 0), old(0, 0, 2)],
    # Refused twice, and a process died with another password in between.
    [old(0, 0), ("ask", 0, 0, 0, "monitor", 2), ("die", 0), old(0, 0)],
)


def play(steps: list[tuple[Any, ...]]) -> None:
    """Raises AssertionError if a server counts more failures than it may."""
    with TemporaryDirectory() as directory:
        history = History(Path(directory))
        for name, *arguments in steps:
            if name == "wait":
                history.clock.ahead += arguments[0]
            elif name == "change password":
                history.right += 1
            else:
                getattr(history, name)(*arguments)
        history.close()


def play_many(examples: int, phases: Sequence[Phase] = tuple(Phase)) -> None:
    test = given(st.lists(STEPS, min_size=3, max_size=40))(play)
    for known in KNOWN:
        test = example(known)(test)
    # Without a hash that is slow on purpose.
    with patch.object(login_ledger, "_fingerprint", lambda password, salt: f"{password} {salt}"):
        settings(max_examples=examples, report_multiple_bugs=False, phases=phases)(test)()


@pytest.mark.parametrize(
    "examples", [80, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_no_history_of_logins_gets_an_account_locked(examples: int) -> None:
    play_many(examples)


def test_a_disk_that_is_full_makes_no_process_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, write = Process(tmp_path), os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: write(file, content[:20], at))
    for _ in range(LOGIN_ATTEMPTS):
        process.tried("refused")
    assert "waiting for a new password" in process.denied()
    monkeypatch.undo()
    assert LoginFile([tmp_path]).salt


def test_a_process_that_ends_before_an_answer_comes_counts_it(tmp_path: Path) -> None:
    for _ in range(LOGIN_ATTEMPTS):
        process = Process(tmp_path)
        process.tried("unanswered")
        process.ledger.close()
    assert "tried again every hour" in Process(tmp_path).denied()
