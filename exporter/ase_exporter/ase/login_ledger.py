"""The login ledger: decides when a password may be tried, so that no account gets locked.

One ledger decides for the whole process that holds it; workers ask that of the web process. An attempt counts as
refused unless it is known not to be: a refusal may come in any form, or after the timeout. With a file, refusals
outlive the process; the file holds a salted scrypt hash of each refused password, not the password.
"""

import hashlib
import itertools
import json
import logging
import os
import random
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.regular_files import read_text, write_bytes

log = logging.getLogger(__name__)

# ASE may lock a login after a few failures, whenever they happen. A password that was refused this often is not
# tried again until it has changed or the exporter is restarted.
LOGIN_ATTEMPTS = 2

# Seconds between attempts that follow if it may not have been the password. An outage of LDAP or PAM is answered like
# a wrong password (4002), and ends by itself. That locks nobody: ASE does not count what LDAP refuses (System
# Administration Guide, "Managing user accounts locally": no change in syslogins), and LDAP counts only what reaches
# it, which is a wrong password only if it was changed there. Directories forget failures within minutes.
HOURLY = 3600.0
# Values of @@authmech that mean that.
DIRECTORIES = frozenset(("ldap", "pam"))

# Of questions: those of all workers meet in one ledger.
_numbers = itertools.count(os.getpid() << 32)

FILE = "logins.json"
"""The name of the file in the state directory."""

# Seconds. A clock that was wrong when the file was written must not stop logins for longer.
MAX_PAUSE = 60.0

BUSY = "is being tried by another target, which has not been answered yet"

Outcome = Literal["accepted", "refused", "dropped", "unknown", "unanswered", "not_refused"]
"""How an attempt ended. accepted: a statement was answered after it; dropped: it was acknowledged, and then nothing was
answered; unanswered: it was sent, and its answer is still awaited; not_refused: no password was checked."""

_Doubt = Literal["", "directory", "unclear"]
_DOUBTS: dict[_Doubt, str] = {
    "directory": "LDAP or PAM may be away",
    "unclear": "or the server did not say so",
}


class Account(NamedTuple):
    """A login of a server. host: a name or an address."""

    host: str
    port: int
    user: str


@dataclass(frozen=True, slots=True)
class Permit:
    """The answer to the question of that number, of which the outcome must be reported if it is allowed.

    denied: why not, '' if it is allowed. accepted: the server took the password before. attempts: how often it may be
    sent, to one address after the other.
    """

    number: int
    denied: str = ""
    accepted: bool = False
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class LoginQuestion:
    """May this password, by its fingerprint, be tried at a server that has these names and addresses?

    number: no other question has it. deadline: until when the answer is waited for (monotonic).
    """

    number: int
    accounts: frozenset[Account]
    fingerprint: str = field(repr=False)
    deadline: float


@dataclass(frozen=True, slots=True)
class LoginReport:
    """How an attempt ended; after `unanswered`, another report may follow. number: that of the question.

    directory: LDAP or PAM had accepted the password before. attempts: how often it was sent.
    """

    number: int
    outcome: Outcome
    directory: bool = False
    attempts: int = 1


@lru_cache(1024)
def _fingerprint(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(), n=1 << 13, r=8, p=1).hex()


class LedgerClient:
    """Asks a ledger, which may be in another process. Thread-safe.

    send: passes on a question, which `answer` must be called for, or a report. salt: the ledger's, for fingerprints.
    """

    def __init__(
        self, send: Callable[[LoginQuestion | LoginReport], None], salt: str, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._send = send
        self._salt = salt
        self._clock = clock
        self._asked: dict[int, Future[Permit]] = {}

    def begin(self, accounts: frozenset[Account], password: str, deadline: float) -> Permit:
        """Ask to log in; waits until the deadline for the end of another attempt at one of the accounts.

        Attempts at one account follow each other, so that the next one knows how the one before ended.
        """
        number = next(_numbers)
        asked = self._asked[number] = Future()
        self._send(LoginQuestion(number, accounts, _fingerprint(password, self._salt), deadline))
        try:
            return asked.result(max(deadline - self._clock.monotonic(), 0.0))
        except TimeoutError:
            return Permit(number, BUSY) if asked.cancel() else asked.result()
        finally:
            del self._asked[number]

    def report(self, report: LoginReport) -> None:
        """Say how an attempt ended."""
        self._send(report)

    def answer(self, permit: Permit) -> None:
        """Take the answer to a question; a permit that nobody waits for any more is given back."""
        asked = self._asked.get(permit.number)
        if asked and asked.set_running_or_notify_cancel():
            asked.set_result(permit)
        elif not permit.denied:
            self.report(LoginReport(permit.number, "not_refused"))


@dataclass(frozen=True, slots=True)
class _Backoff:
    """A refused password: how often in a row it was refused, and when it may be tried again (monotonic).

    doubt: why it may not have been the password: a directory had accepted it before, or an attempt may have ended in
    something else than a refusal.
    """

    times: int = 0
    until: float = 0.0
    doubt: _Doubt = ""

    @property
    def is_exhausted(self) -> bool:
        """Whether the usual attempts are used up."""
        return self.times >= LOGIN_ATTEMPTS

    def forbids(self, now: float) -> str:
        """Why the password must not be tried now; '' if it may be."""
        if self.is_exhausted and not self.doubt:
            return f"was refused {self.times} times; waiting for a new password"
        if now >= self.until:
            return ""
        if self.is_exhausted:
            return f"was refused {self.times} times; {_DOUBTS[self.doubt]}: tried again every hour"
        return "was refused; waiting"

    def after(self, report: LoginReport, now: float, pause: float) -> "_Backoff":
        """The backoff after an attempt that may have been refused. pause: seconds before the second attempt."""
        times, doubt = self.times + report.attempts, self.doubt
        if report.outcome != "refused":
            doubt = doubt or "unclear"
        if report.directory:
            doubt = "directory"
        if doubt and times >= LOGIN_ATTEMPTS:
            pause = HOURLY
        elif doubt == "unclear":
            pause = 0.0
        return replace(self, times=times, until=now + pause, doubt=doubt)


_Key = tuple[Account, str]


@dataclass(slots=True)
class _Attempt:
    """An attempt in progress. owner: who asked. before: the backoffs of its accounts when it began."""

    owner: object
    fingerprint: str
    before: dict[Account, _Backoff | None]
    unanswered: bool = False


class LoginLedger:
    """The backoffs of all accounts, by password, and the attempts in progress. Thread-safe.

    directory: where the file is kept; None to keep nothing. `salt` is part of the fingerprint of each password.
    """

    def __init__(self, directory: Path | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.salt = secrets.token_hex(16)
        self._path = directory / FILE if directory else None
        self._clock = clock
        self._lock = threading.RLock()
        self._backoffs: dict[_Key, _Backoff] = {}
        self._attempts: dict[int, _Attempt] = {}
        self._busy: set[Account] = set()
        self._waiting: list[tuple[LoginQuestion, Callable[[Permit], None], object]] = []
        # The fingerprint of the password that each account accepted last, until it is refused.
        self._accepted: dict[Account, str] = {}
        # One directory counts for all servers: when the next target may try a user's password there again.
        self._directory_retries: dict[tuple[str, str], float] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="logins")
        self._unsaved = False
        self.saved: Future[None] | None = None
        """The end of the last write that was begun."""
        self._load()

    def client(self) -> LedgerClient:
        """A client in this process."""

        def send(message: LoginQuestion | LoginReport) -> None:
            if isinstance(message, LoginReport):
                self.note(message)
            else:
                self.ask(message, client.answer)

        client = LedgerClient(send, self.salt, self._clock)
        return client

    def ask(self, question: LoginQuestion, answer: Callable[[Permit], None], owner: object = None) -> None:
        """Call `answer` now, or when other attempts at the accounts have ended, but not after the deadline."""
        with self._lock:
            self._waiting.append((question, answer, owner))
            self._answer_waiting()

    def note(self, report: LoginReport) -> None:
        """Take a report; one of an attempt that is not in progress is ignored."""
        with self._lock:
            attempt = self._attempts.get(report.number)
            if attempt is None:
                return
            attempt.unanswered = report.outcome == "unanswered"
            if not attempt.unanswered:
                del self._attempts[report.number]
                self._busy -= attempt.before.keys()
            self._count(attempt, report)
            if self._unsaved and self._path:
                self.saved = self._writer.submit(self._save, self._path)
            self._answer_waiting()

    def abandon(self, owner: object, outcome: Outcome) -> None:
        """End all attempts of an owner that is gone with this outcome; those that were sent as `unknown`."""
        with self._lock:
            self._waiting = [each for each in self._waiting if each[2] is not owner]
            for number, attempt in list(self._attempts.items()):
                if attempt.owner is owner:
                    self.note(LoginReport(number, "unknown" if attempt.unanswered else outcome))

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown()

    def _answer_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for question, answer, owner in waiting:
            if permit := self._decide(question, owner):
                answer(permit)
            elif self._clock.monotonic() < question.deadline:
                self._waiting.append((question, answer, owner))

    def _decide(self, question: LoginQuestion, owner: object) -> Permit | None:
        """The answer to a question; None while another attempt at one of the accounts is in progress."""
        accounts, fingerprint = question.accounts, question.fingerprint
        before = {account: self._backoffs.get((account, fingerprint)) for account in accounts}
        backoffs = [each for each in before.values() if each]
        now = self._clock.monotonic()
        for backoff in backoffs:
            if reason := backoff.forbids(now):
                return Permit(question.number, reason)
        if self._busy & accounts:
            return None
        if any(each.is_exhausted and each.doubt == "directory" for each in backoffs):
            retry = next(iter(accounts)).user, fingerprint
            if now < self._directory_retries.get(retry, now):
                return Permit(question.number, "was refused; another target tries it this hour")
            self._directory_retries[retry] = now + HOURLY
        self._busy |= accounts
        attempt = self._attempts[question.number] = _Attempt(owner, fingerprint, before)
        left = LOGIN_ATTEMPTS - max((each.times for each in backoffs), default=0)
        return Permit(question.number, accepted=self._is_accepted(attempt), attempts=max(left, 1))

    def _count(self, attempt: _Attempt, report: LoginReport) -> None:
        """Replace the backoffs of an attempt's accounts by those after it."""
        outcome = report.outcome
        if outcome in ("unknown", "unanswered") and self._is_accepted(attempt):
            # A damaged answer, a server that hangs, or a driver that crashed: a password that was accepted is hardly
            # refused without a word.
            outcome = "not_refused"
        pause = random.uniform(*TIMING.login_pause)
        for account, before in attempt.before.items():
            after = before
            if outcome == "accepted":
                self._accepted[account] = attempt.fingerprint
                self._directory_retries.pop((account.user, attempt.fingerprint), None)
                after = None
            elif outcome != "not_refused":
                self._accepted.pop(account, None)
                after = (before or _Backoff()).after(report, self._clock.monotonic(), pause)
            key = account, attempt.fingerprint
            self._unsaved |= self._backoffs.get(key) != after
            if after:
                self._backoffs[key] = after
            else:
                self._backoffs.pop(key, None)

    def _is_accepted(self, attempt: _Attempt) -> bool:
        """Whether the server took the password before, by any of its names, and has refused it by none since."""
        taken = any(self._accepted.get(account) == attempt.fingerprint for account in attempt.before)
        return taken and not any(attempt.before.values())

    def _load(self) -> None:
        """Continue with the backoffs of the process before; with none if there is no file or it is damaged."""
        if self._path is None:
            return
        try:
            content: dict[str, Any] = json.loads(read_text(self._path))
            self._backoffs = dict(map(self._read, content["logins"]))
            content["salt"].encode()
            self.salt = content["salt"]
        except FileNotFoundError:
            pass
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            ArithmeticError,
            AttributeError,
            RecursionError,
        ) as error:
            self._backoffs = {}
            log.error(
                "state directory: %s cannot be read (%s); starting without it", FILE, type(error).__name__
            )

    def _read(self, entry: dict[str, Any]) -> tuple[_Key, _Backoff]:
        doubt: _Doubt = next((each for each in _DOUBTS if each == entry["doubt"]), "")
        # NaN is not less.
        left = min(HOURLY if doubt else MAX_PAUSE, float(entry["until"]) - self._clock.time())
        account = Account(str(entry["host"]), int(entry["port"]), str(entry["user"]))
        backoff = _Backoff(max(int(entry["times"]), 1), self._clock.monotonic() + left, doubt)
        return (account, str(entry["password"])), backoff

    def _save(self, path: Path) -> None:
        """Write all backoffs, if there is a change that has not been written."""
        with self._lock:
            if not self._unsaved:
                return
            self._unsaved = False
            backoffs = list(self._backoffs.items())
        ahead = self._clock.time() - self._clock.monotonic()
        entries = [
            account._asdict()
            | {"password": fingerprint, "times": each.times, "until": each.until + ahead, "doubt": each.doubt}
            for (account, fingerprint), each in backoffs
        ]
        try:
            content = json.dumps({"salt": self.salt, "logins": entries})
            write_bytes(path, content.encode(), 0o600, sync=True)
        except OSError as error:
            log.error("state directory: %s cannot be written: %s", FILE, error.strerror)
