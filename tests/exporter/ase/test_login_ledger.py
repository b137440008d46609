"""The ledger of logins: what it permits, and what outlives the process."""

import itertools
import json
import math
import stat
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.exporter.clocks import ShiftedClock

from ase_exporter.ase.login_ledger import (
    BUSY,
    FILE,
    HOURLY,
    LOGIN_ATTEMPTS,
    MAX_PAUSE,
    Account,
    LedgerClient,
    LoginLedger,
    LoginQuestion,
    LoginReport,
    Outcome,
    Permit,
)
from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.regular_files import write_bytes

WRONG = "planted-wrong"
ACCOUNTS = frozenset({Account("db.example", 5000, "monitor"), Account("192.0.2.1", 5000, "monitor")})
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TIMING, "login_pause", (0.0, 0.0))


class Process:
    """What a new process knows. A context manager: writes everything at its end."""

    def __init__(self, directory: Path | None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.ledger = LoginLedger(directory, clock)
        self.client = self.ledger.client()
        self._clock = clock

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.ledger.close()

    def asked(self, password: str = WRONG, accounts: frozenset[Account] = ACCOUNTS) -> Permit:
        return self.client.begin(accounts, password, self._clock.monotonic())

    def tried(self, *outcomes: Outcome, of_directory: bool = False) -> None:
        """One attempt, with what is reported of it."""
        permit = self.asked()
        assert not permit.denied
        for outcome in outcomes:
            self.client.report(LoginReport(permit.number, outcome, of_directory))


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
            assert "waiting for a new password" in after.asked(WRONG, frozenset({account})).denied
        another = after.asked("another")
        assert not another.denied
        after.client.report(LoginReport(another.number, "accepted"))
        assert "waiting for a new password" in after.asked().denied


def test_attempts_count_on_after_a_restart_and_are_forgotten_once_accepted(tmp_path: Path) -> None:
    refused(tmp_path, 1)
    with Process(tmp_path) as after:
        after.tried("accepted")
    assert json.loads((tmp_path / FILE).read_text())["logins"] == []
    for _ in range(LOGIN_ATTEMPTS):
        refused(tmp_path, 1)
    assert "waiting for a new password" in Process(tmp_path).asked().denied


def test_a_damaged_answer_suspends_no_password_that_was_accepted() -> None:
    process = Process(None)
    process.tried("accepted")
    for _ in range(LOGIN_ATTEMPTS + 1):
        process.tried("unanswered", "unknown")
    for _ in range(LOGIN_ATTEMPTS):
        process.tried("refused")
    assert "waiting for a new password" in process.asked().denied


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
        denied = Process(tmp_path, clock.clock).asked().denied
        assert denied == "" if allowed else "every hour" in denied


DAMAGED = ["", "{", "[7]", '{"logins": [{"host": "x"}]}', "null", "\xff", "[" * 100_000, '{"salt": 7}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("latin-1"))
    assert not Process(tmp_path).asked().denied
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
    assert not Process(tmp_path).asked().denied


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
        assert process.asked().denied


def test_servers_that_fall_silent_together_are_written_together_and_by_another_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, begun, allowed = write_bytes, threading.Event(), threading.Event()
    writers: list[threading.Thread] = []

    def slow(path: Path, *arguments: Any, **more: Any) -> None:
        # The ledger of an earlier test may still be writing.
        if path.parent == tmp_path:
            writers.append(threading.current_thread())
            begun.set()
            assert allowed.wait(60)
        write(path, *arguments, **more)

    monkeypatch.setattr("ase_exporter.ase.login_ledger.write_bytes", slow)
    with Process(tmp_path) as process:
        numbers = [
            process.asked(accounts=frozenset({Account(f"db{number}.example", 5000, "monitor")})).number
            for number in range(300)
        ]
        process.client.report(LoginReport(numbers[0], "unanswered"))
        first = process.ledger.saved
        assert first and begun.wait(60)
        for number in numbers[1:]:
            process.client.report(LoginReport(number, "unanswered"))
        last = process.ledger.saved
        assert last and not first.done()
        allowed.set()
        last.result(60)
        # What was noted until then is written, in two writes.
        assert len(json.loads((tmp_path / FILE).read_text())["logins"]) == 300
    assert len(writers) == 2
    assert threading.main_thread() not in writers


def test_attempts_at_one_account_follow_each_other() -> None:
    process = Process(None)
    first = process.asked()
    assert process.asked().denied == BUSY
    permits: list[Permit] = []
    thread = threading.Thread(
        target=lambda: permits.append(process.client.begin(ACCOUNTS, WRONG, time.monotonic() + 60))
    )
    thread.start()
    process.client.report(LoginReport(first.number, "not_refused"))
    thread.join(60)
    assert [permit.denied for permit in permits] == [""]


def test_what_an_owner_leaves_behind_is_ended(tmp_path: Path) -> None:
    ledger = LoginLedger()
    answers: list[Permit] = []
    clients = [LedgerClient(lambda message: None, ledger.salt) for _ in range(2)]
    asked = [LoginQuestion(number, ACCOUNTS, "fingerprint", time.monotonic() + 60) for number in (1, 2)]
    for question, owner in zip(asked, clients, strict=True):
        ledger.ask(question, answers.append, owner)
    assert len(answers) == 1
    # The question of the second waits until the first is gone.
    ledger.abandon(clients[0], "unknown")
    assert len(answers) == 2
    ledger.note(LoginReport(answers[1].number, "unanswered"))
    # It has been sent, so it counts even if it was we who ended the process.
    ledger.abandon(clients[1], "not_refused")
    ledger.ask(asked[0], answers.append)
    assert "tried again every hour" in answers[2].denied


def test_a_permit_that_comes_too_late_is_given_back() -> None:
    sent: list[Any] = []
    client = LedgerClient(sent.append, "salt")
    assert client.begin(ACCOUNTS, WRONG, time.monotonic()).denied == BUSY
    client.answer(Permit(sent[0].number))
    assert sent[1:] == [LoginReport(sent[0].number, "not_refused")]


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
WORKERS, FORMS = st.integers(0, 1), st.integers(0, len(REPORTS) - 1)
STEPS = st.one_of(
    st.tuples(st.just("log_in"), WORKERS, st.booleans(), FORMS),
    st.tuples(st.just("log_in"), WORKERS, st.just(True), FORMS),
    st.tuples(st.just("ask"), WORKERS, st.booleans()),
    st.tuples(st.just("end"), WORKERS, FORMS),
    st.tuples(st.just("find_closed"), WORKERS),
    st.tuples(st.just("die"), WORKERS),
    st.tuples(st.just("wait"), st.sampled_from((1.0, 60.0, HOURLY / 2, HOURLY + 1))),
    st.tuples(st.just("change password")),
    st.tuples(st.just("restart")),
)


class History:
    """One account, two targets of its server, each in a worker of its own, and what the server counts.

    right, wrong: what the account and the configuration have as password. failures: of each password in a row.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ShiftedClock()
        self.passwords = 1
        self.accepted_before: set[int] = set()
        self.unclear: set[int] = set()
        self.failures: Counter[int] = Counter()
        self.first_failure: dict[int, float] = {}
        self.start()

    def start(self) -> None:
        self.ledger = LoginLedger(self.directory, self.clock.clock)
        # By worker: the number of its attempt, and which password was sent.
        self.under_way: dict[int, tuple[int, int]] = {}

    def ask(self, worker: int, old: bool) -> None:
        """A target logs in, with the password before the last change if its secret is old."""
        password = max(self.passwords - old, 1)
        address = Account("192.0.2.1", 5000, "monitor")
        accounts = frozenset({address, Account(f"name{worker}.example", 5000, "monitor")})
        now = self.clock.monotonic()
        question = LoginQuestion(next(NUMBERS), accounts, f"password {password}", now)

        def answer(permit: Permit) -> None:
            if not permit.denied:
                self.under_way[worker] = permit.number, password

        if worker not in self.under_way:
            self.ledger.ask(question, answer, worker)

    def end(self, worker: int, form: int) -> None:
        """The server answers, or does not."""
        if worker not in self.under_way:
            return
        number, password = self.under_way.pop(worker)
        if password == self.passwords:
            self.failures[password] = 0
            self.accepted_before.add(password)
            self.ledger.note(LoginReport(number, "accepted"))
            return
        if password in self.accepted_before:
            form %= RECOGNISED
            self.accepted_before.discard(password)
        self.fail(password, unclear=REPORTS[form] != ("refused",))
        for outcome in REPORTS[form]:
            self.ledger.note(LoginReport(number, outcome))

    def log_in(self, worker: int, old: bool, form: int) -> None:
        self.ask(worker, old)
        self.end(worker, form)

    def find_closed(self, worker: int) -> None:
        """The server is down: no password is sent."""
        if worker in self.under_way:
            self.ledger.note(LoginReport(self.under_way.pop(worker)[0], "not_refused"))

    def die(self, worker: int) -> None:
        """A worker ends, and with it an attempt that the server has counted, if it was not of a good password."""
        if worker in self.under_way:
            _, password = self.under_way.pop(worker)
            if password != self.passwords and password not in self.accepted_before:
                self.fail(password, unclear=True)
        self.ledger.abandon(worker, "unknown")

    def fail(self, password: int, *, unclear: bool) -> None:
        self.failures[password] += 1
        self.first_failure.setdefault(password, self.clock.monotonic())
        if unclear:
            self.unclear.add(password)
        hours = (self.clock.monotonic() - self.first_failure[password]) // HOURLY
        assert self.failures[password] <= LOGIN_ATTEMPTS + (hours if password in self.unclear else 0)

    def restart(self) -> None:
        """The exporter is stopped once all attempts have ended, and started again."""
        for worker in list(self.under_way):
            self.die(worker)
        self.ledger.close()
        self.accepted_before.clear()
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


def play_many(examples: int) -> None:
    test = given(st.lists(STEPS, max_size=40))(play)
    for known in KNOWN:
        test = example(known)(test)
    settings(max_examples=examples, report_multiple_bugs=False)(test)()


@pytest.mark.parametrize(
    "examples", [200, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_no_history_of_logins_gets_an_account_locked(examples: int) -> None:
    play_many(examples)


def test_these_histories_find_a_ledger_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ase_exporter.ase.login_ledger._Backoff.forbids", lambda *_: "")
    with pytest.raises(AssertionError):
        play_many(200)
