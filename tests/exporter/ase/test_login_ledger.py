"""The ledger of logins: what it allows, and what outlives the process."""

import json
import math
import mmap
import stat
import threading
import time
from collections import Counter
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
from tests.programs import eventually

from ase_exporter.ase import login_ledger
from ase_exporter.ase.login_ledger import (
    BUSY,
    FILE,
    HOURLY,
    LOGIN_ATTEMPTS,
    MAX_PAUSE,
    Account,
    Attempt,
    LoginLedger,
    NotAllowedError,
    Outcome,
)
from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.regular_files import write_bytes

WRONG = "planted-wrong"
ACCOUNTS = frozenset({Account("db.example", 5000, "monitor"), Account("192.0.2.1", 5000, "monitor")})


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the hash that is in use: tests/conftest.py replaces it. What counts here is the password: the limit of an
    account for an hour, whatever the password, is that of test_refusals."""
    monkeypatch.setattr(login_ledger, "MAX_REFUSALS", math.inf)
    monkeypatch.setattr(TIMING, "login_pause", (0.0, 0.0))
    monkeypatch.setattr(login_ledger, "_fingerprint", login_ledger._fingerprint.__wrapped__)


class Process:
    """What a new process knows. A context manager: writes everything at its end."""

    def __init__(self, directory: Path | None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.ledger = LoginLedger(directory, clock)
        self._clock = clock

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.ledger.close()

    def die(self) -> None:
        """The system closes its files."""
        self.ledger._refusals.close()

    def begin(self, password: str = WRONG, accounts: frozenset[Account] = ACCOUNTS) -> Attempt:
        return self.ledger.begin(accounts, password, self._clock.monotonic())

    def denied(self, password: str = WRONG, accounts: frozenset[Account] = ACCOUNTS) -> str:
        """Why an attempt is not allowed; '' if it is, and was ended without a refusal."""
        try:
            self.ledger.end(self.begin(password, accounts), "not_refused")
        except NotAllowedError as error:
            return str(error)
        return ""

    def tried(self, *outcomes: Outcome, of_directory: bool = False) -> None:
        """One attempt, with what is reported of it."""
        attempt = self.begin()
        for outcome in outcomes:
            self.ledger.end(attempt, outcome, directory=of_directory)


def refused(directory: Path, times: int = LOGIN_ATTEMPTS) -> None:
    with Process(directory) as process:
        for _ in range(times):
            process.tried("refused")


def test_a_refused_password_is_known_after_a_restart_and_not_written(tmp_path: Path) -> None:
    refused(tmp_path)
    written = tmp_path / FILE
    assert WRONG not in written.read_text()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    with Process(tmp_path) as after:
        # By any of its names.
        for account in ACCOUNTS:
            assert "waiting for a new password" in after.denied(WRONG, frozenset({account}))
        after.ledger.end(after.begin("another"), "accepted")
        assert "waiting for a new password" in after.denied()


def test_attempts_count_on_after_a_restart_and_are_forgotten_once_accepted(tmp_path: Path) -> None:
    refused(tmp_path, 1)
    with Process(tmp_path) as after:
        after.tried("accepted")
    assert json.loads((tmp_path / FILE).read_text())["logins"] == []
    for _ in range(LOGIN_ATTEMPTS):
        refused(tmp_path, 1)
    assert "waiting for a new password" in Process(tmp_path).denied()


def test_a_damaged_answer_suspends_no_password_that_was_accepted() -> None:
    process = Process(None)
    process.tried("accepted")
    for _ in range(LOGIN_ATTEMPTS + 1):
        process.tried("unanswered", "unknown")
    for _ in range(LOGIN_ATTEMPTS):
        process.tried("refused")
    assert "waiting for a new password" in process.denied()


@pytest.mark.parametrize("why", ["directory", "unknown", "unanswered"])
def test_what_may_not_be_the_password_is_still_tried_every_hour_after_a_restart(
    tmp_path: Path, why: str
) -> None:
    with Process(tmp_path) as process:
        if why == "directory":
            for _ in range(LOGIN_ATTEMPTS):
                process.tried("refused", of_directory=True)
        else:
            process.tried("unknown")
            # The process ends before the answer comes.
            process.tried("unanswered" if why == "unanswered" else "unknown")
    for ahead, allowed in ((HOURLY - 60, False), (HOURLY + 60, True)):
        clock = ShiftedClock()
        clock.ahead = ahead
        denied = Process(tmp_path, clock.clock).denied()
        assert denied == "" if allowed else "every hour" in denied


DAMAGED = ["", "{", "[7]", '{"logins": [{"host": "x"}]}', "null", "\xff", "[" * 100_000, '{"salt": 7}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("latin-1"))
    assert not Process(tmp_path).denied()
    refused(tmp_path, 1)
    assert len(json.loads((tmp_path / FILE).read_text())["logins"]) == len(ACCOUNTS)


@pytest.mark.parametrize("damaged", ["\ud800", "é", "", ":", 7, None, ["x"]])
@pytest.mark.parametrize("what", ["salt", "password"])
def test_a_damaged_hash_is_of_no_password(tmp_path: Path, damaged: object, what: str) -> None:
    refused(tmp_path)
    content = json.loads((tmp_path / FILE).read_text())
    for entry in [content] if what == "salt" else content["logins"]:
        entry[what] = damaged
    (tmp_path / FILE).write_text(json.dumps(content))
    assert not Process(tmp_path).denied()


@pytest.mark.parametrize(
    ("key", "damaged"), [("until", math.nan), ("until", math.inf), ("until", 10**400), ("times", -1)]
)
def test_impossible_numbers_stop_no_login_for_ever_and_allow_no_more(
    tmp_path: Path, key: str, damaged: float
) -> None:
    refused(tmp_path, 1)
    content = json.loads((tmp_path / FILE).read_text())
    for entry in content["logins"]:
        entry[key] = damaged
    (tmp_path / FILE).write_text(json.dumps(content))
    clock = ShiftedClock()
    process = Process(tmp_path, clock.clock)
    clock.ahead = MAX_PAUSE + 1
    process.tried("refused")
    if key == "times":
        assert process.denied()


def test_an_attempt_is_in_the_file_before_it_is_sent(tmp_path: Path) -> None:
    """Whoever dies while it is under way leaves it as one that may have been refused."""
    for _ in range(LOGIN_ATTEMPTS):
        Process(tmp_path).begin()
    assert "tried again every hour" in Process(tmp_path).denied()


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
        ledger = LoginLedger(tmp_path, memory=memory)
        attempt = ledger.begin(ACCOUNTS, WRONG, time.monotonic())
        if not number:
            ledger.end(attempt, "accepted")


def test_our_own_end_counts_as_no_refusal(tmp_path: Path) -> None:
    for _ in range(LOGIN_ATTEMPTS + 1):
        with Process(tmp_path) as process:
            process.begin()
    assert not Process(tmp_path).denied()


def test_attempts_that_begin_together_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, begun, allowed = write_bytes, threading.Event(), threading.Event()
    written: list[int] = []

    def slow(path: Path, content: bytes, *arguments: Any, **more: Any) -> None:
        begun.set()
        assert allowed.wait(60)
        written.append(len(json.loads(content)["logins"]))
        write(path, content, *arguments, **more)

    monkeypatch.setattr("ase_exporter.ase.login_ledger.write_bytes", slow)
    process = Process(tmp_path)

    def begin(number: int) -> None:
        process.begin(accounts=frozenset({Account(f"db{number}.example", 5000, "monitor")}))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(50)]
    threads[0].start()
    assert begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    eventually("all have asked", lambda: len(process.ledger._attempts) == len(threads))
    allowed.set()
    for thread in threads:
        thread.join(60)
    assert written == [1, 50]


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
TARGETS, FORMS = st.integers(0, 1), st.integers(0, len(REPORTS) - 1)
STEPS = st.one_of(
    st.tuples(st.just("log_in"), TARGETS, st.booleans(), FORMS),
    st.tuples(st.just("log_in"), TARGETS, st.just(True), FORMS),
    st.tuples(st.just("ask"), TARGETS, st.booleans()),
    st.tuples(st.just("end"), TARGETS, FORMS),
    st.tuples(st.just("find_closed"), TARGETS),
    st.tuples(st.just("die")),
    st.tuples(st.just("wait"), st.sampled_from((1.0, 60.0, HOURLY / 2, HOURLY + 1))),
    st.tuples(st.just("change password")),
    st.tuples(st.just("restart")),
)


class History:
    """One account, two targets of its server, and what the server counts.

    passwords: how many the account has had. failures: of each password in a row.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ShiftedClock()
        self.passwords = 1
        self.accepted_before: set[int] = set()
        self.unclear: set[int] = set()
        self.failures: Counter[int] = Counter()
        self.first_failure: dict[int, float] = {}
        self.memory = mmap.mmap(-1, 1 << 16)
        self.start()

    def start(self) -> None:
        self.ledger = LoginLedger(self.directory, self.clock.clock, self.memory)
        # By target: its attempt, and which password was sent.
        self.under_way: dict[int, tuple[Attempt, int]] = {}

    def ask(self, target: int, old: bool) -> None:
        """A target logs in, with the password before the last change if its secret is old."""
        password = max(self.passwords - old, 1)
        address = Account("192.0.2.1", 5000, "monitor")
        accounts = frozenset({address, Account(f"name{target}.example", 5000, "monitor")})
        if target not in self.under_way:
            with suppress(NotAllowedError):
                attempt = self.ledger.begin(accounts, f"password {password}", self.clock.monotonic())
                self.under_way[target] = attempt, password

    def end(self, target: int, form: int) -> None:
        """The server answers, or does not."""
        if target not in self.under_way:
            return
        attempt, password = self.under_way.pop(target)
        if password == self.passwords:
            self.failures[password] = 0
            self.accepted_before.add(password)
            self.ledger.end(attempt, "accepted")
            return
        if password in self.accepted_before:
            form %= RECOGNISED
            self.accepted_before.discard(password)
        self.fail(password, unclear=REPORTS[form] != ("refused",))
        for outcome in REPORTS[form]:
            self.ledger.end(attempt, outcome)

    def log_in(self, target: int, old: bool, form: int) -> None:
        self.ask(target, old)
        self.end(target, form)

    def find_closed(self, target: int) -> None:
        """The server is down: no password is sent."""
        if target in self.under_way:
            self.ledger.end(self.under_way.pop(target)[0], "not_refused")

    def die(self) -> None:
        """The process dies, and with it attempts that the server has counted, if they were not of a good password."""
        for _, password in self.under_way.values():
            if password != self.passwords and password not in self.accepted_before:
                self.fail(password, unclear=True)
        self.start()

    def fail(self, password: int, *, unclear: bool) -> None:
        self.failures[password] += 1
        self.first_failure.setdefault(password, self.clock.monotonic())
        if unclear:
            self.unclear.add(password)
        hours = (self.clock.monotonic() - self.first_failure[password]) // HOURLY
        assert self.failures[password] <= LOGIN_ATTEMPTS + (hours if password in self.unclear else 0)

    def restart(self) -> None:
        """The exporter is stopped once all attempts have ended, and started again."""
        for target in list(self.under_way):
            self.find_closed(target)
        self.ledger.close()
        self.accepted_before.clear()
        self.memory = mmap.mmap(-1, 1 << 16)
        self.start()


ACCEPTED_AND_CHANGED = [("log_in", 0, False, 0), ("change password",)]
DROPPED, UNKNOWN = ("log_in", 0, True, 1), ("log_in", 0, True, 4)
CLOSED = [("ask", 0, True), ("find_closed", 0)]


KNOWN = (
    [*ACCEPTED_AND_CHANGED, DROPPED, DROPPED, DROPPED],
    [*ACCEPTED_AND_CHANGED, DROPPED, UNKNOWN, UNKNOWN],
    # Refused by one name, and then in no form that can be recognised by another one.
    [
        ("log_in", 1, False, 0),
        ("change password",),
        ("log_in", 0, True, 0),
        ("log_in", 1, True, 4),
        ("log_in", 0, True, 0),
    ],
    [("change password",), UNKNOWN, *CLOSED, UNKNOWN, *CLOSED, UNKNOWN],
)


def play(steps: list[tuple[Any, ...]]) -> None:
    """Raises AssertionError if the server counts more failures than it may."""
    with TemporaryDirectory() as directory:
        history = History(Path(directory))
        for name, *arguments in steps:
            if name == "wait":
                history.clock.ahead += arguments[0]
            elif name == "change password":
                history.passwords += 1
            else:
                getattr(history, name)(*arguments)
        history.ledger.close()


def play_many(examples: int, phases: Sequence[Phase] = tuple(Phase)) -> None:
    test = given(st.lists(STEPS, max_size=40))(play)
    for known in KNOWN:
        test = example(known)(test)

    def unsynced(path: Path, content: bytes, mode: int, **_: object) -> None:
        write_bytes(path, content, mode)

    # Neither a hash that is slow on purpose nor a disk.
    module = "ase_exporter.ase.login_ledger"
    with (
        patch(f"{module}._fingerprint", lambda password, salt: f"{password} {salt}"),
        patch(f"{module}.write_bytes", unsynced),
    ):
        settings(max_examples=examples, report_multiple_bugs=False, phases=phases)(test)()


@pytest.mark.parametrize(
    "examples", [60, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_no_history_of_logins_gets_an_account_locked(examples: int) -> None:
    play_many(examples)


def test_these_histories_find_a_ledger_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ase_exporter.ase.login_ledger._Backoff.forbids", lambda *_: "")
    with pytest.raises(AssertionError):
        play_many(60, [Phase.explicit, Phase.generate])
