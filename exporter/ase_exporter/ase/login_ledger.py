"""The login ledger: decides when a password may be tried, so that no account gets locked.

One ledger decides for the whole process. An attempt counts as refused unless it is known not to be: a refusal may come
in any form, or after the timeout. The file in the state directory has each attempt before it is sent, and each refusal,
so that they outlive the process; it holds a salted scrypt hash of each password, not the password.
"""

import contextlib
import hashlib
import json
import logging
import mmap
import random
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from ase_exporter.ase.refusals import MAX_REFUSALS, Refusals, shared_directories
from ase_exporter.ase.refusals import Account as Account
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

FILE = "logins.json"
"""The name of the file in the state directory."""

# Seconds. A clock that was wrong when the file was written must not stop logins for longer.
MAX_PAUSE = 60.0

# Seconds between two looks whether another process has been answered.
_POLL = 0.1

BUSY = "is being tried by another target, which has not been answered yet"

Outcome = Literal["accepted", "refused", "dropped", "unknown", "unanswered", "not_refused"]
"""How an attempt ended. accepted: a statement was answered after it; dropped: it was acknowledged, and then nothing was
answered; unanswered: it was sent, and its answer is still awaited; not_refused: no password was checked."""

# Why it may not have been the password: a directory had accepted it before, or an attempt may have ended in something
# else than a refusal.
_Unclear = Literal["", "directory", "unclear"]
_REASONS: dict[_Unclear, str] = {
    "directory": "LDAP or PAM may be away",
    "unclear": "or the server did not say so",
}


class NotAllowedError(Exception):
    """The password must not be tried now; the message says why. is_busy: another attempt has not ended."""

    def __init__(self, why: str, *, is_busy: bool = False) -> None:
        super().__init__(why)
        self.is_busy = is_busy


@lru_cache(1024)
def _fingerprint(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(), n=1 << 13, r=8, p=1).hex()


@dataclass(frozen=True, slots=True)
class _Backoff:
    """A refused password: how often in a row it was refused, and when it may be tried again (monotonic).

    unclear: why it may not have been the password.
    """

    times: int = 0
    until: float = 0.0
    unclear: _Unclear = ""

    @property
    def is_exhausted(self) -> bool:
        """Whether the usual attempts are used up."""
        return self.times >= LOGIN_ATTEMPTS

    def forbids(self, now: float) -> str:
        """Why the password must not be tried now; '' if it may be."""
        if self.is_exhausted and not self.unclear:
            return f"was refused {self.times} times; waiting for a new password"
        if now >= self.until:
            return ""
        if self.is_exhausted:
            return f"was refused {self.times} times; {_REASONS[self.unclear]}: tried again every hour"
        return "was refused; waiting"

    def after(self, outcome: Outcome, sent: int, now: float, pause: float, *, directory: bool) -> "_Backoff":
        """The backoff after a password was sent so often, and may have been refused.

        pause: seconds before the second attempt. directory: LDAP or PAM had accepted it before.
        """
        times, unclear = self.times + sent, self.unclear
        if outcome != "refused":
            unclear = unclear or "unclear"
        if directory:
            unclear = "directory"
        if unclear and times >= LOGIN_ATTEMPTS:
            pause = HOURLY
        elif unclear == "unclear":
            pause = 0.0
        return replace(self, times=times, until=now + pause, unclear=unclear)


_Key = tuple[Account, str]


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt that is allowed; its outcome must be reported.

    before: the backoffs of its accounts when it began. accepted: the server took the password before. allowed: how
    often it may be sent, to one address after the other. began: seconds since the epoch.
    """

    fingerprint: str
    before: dict[Account, _Backoff | None]
    accepted: bool
    allowed: int
    unanswered: bool = False
    began: float = 0.0

    @property
    def is_alone(self) -> bool:
        """Whether no other one may begin of which an earlier outcome is not known either.

        After a crash all targets that were logging in are tried again one by one: if one of them crashes the driver,
        the next crash counts against none of the others.
        """
        return not self.unanswered and any(each and each.unclear for each in self.before.values())


class LoginLedger:
    """The backoffs of all accounts, by password, and the attempts in progress. Thread-safe.

    directory: where the file is kept; None to keep nothing. memory: shared with the process that follows this one. It
    has what was accepted, as no file shall: a process that dies while targets log in suspends none of them.
    shared: other directories in which refusals are counted.
    """

    def __init__(
        self,
        directory: Path | None = None,
        clock: Clock = SYSTEM_CLOCK,
        memory: mmap.mmap | None = None,
        shared: Iterable[Path] = (),
    ) -> None:
        # Whether an account may be tried once more than it is usually, as its owner wants.
        self.once_more = False
        self._refusals = Refusals([*([directory] if directory else []), *shared], clock)
        self._salt = secrets.token_hex(16)
        self._path = directory / FILE if directory else None
        self._clock = clock
        self._changed = threading.Condition()
        self._backoffs: dict[_Key, _Backoff] = {}
        self._attempts: set[Attempt] = set()
        # The fingerprint of the password that each account accepted last, until it is refused.
        self._accepted: dict[Account, str] = {}
        self._memory = memory
        # One directory counts for all servers: when the next target may try a user's password there again.
        self._directory_retries: dict[tuple[str, str], float] = {}
        # Guards the file; how many changes there were, and how many of them the file has.
        self._writing = threading.Lock()
        self._changes = self._written = 0
        self._load()
        if memory is not None:
            self._load_accepted(memory)

    def begin(self, accounts: frozenset[Account], password: str, deadline: float) -> Attempt:
        """Allow an attempt, which is in the file then. accounts: the names and addresses that a server has.

        Attempts at one account follow each other, so that the next one knows how the one before ended: waits for that
        until the deadline. Raises NotAllowedError.
        """
        fingerprint = _fingerprint(password, self._salt)
        with self._changed:
            while not (attempt := self._decide(accounts, fingerprint)):
                left = deadline - self._clock.monotonic()
                if left <= 0:
                    raise NotAllowedError(BUSY, is_busy=True)
                self._changed.wait(left)
            self._attempts.add(attempt)
            # An attempt that counts only if it is refused need not be in the file.
            self._changes += not attempt.accepted
        try:
            self._reserve(attempt, deadline)
        except NotAllowedError:
            with self._changed:
                self._attempts.remove(attempt)
                self._changed.notify_all()
            raise
        self._write()
        return attempt

    def end(self, attempt: Attempt, outcome: Outcome, *, directory: bool = False, sent: int = 1) -> None:
        """Note how an attempt ended; after `unanswered`, another outcome may follow.

        directory: LDAP or PAM had accepted the password before. sent: how often it was sent.
        """
        if outcome in ("unknown", "unanswered") and attempt.accepted:
            # A damaged answer, a server that hangs, or a driver that crashed: a password that was accepted is hardly
            # refused without a word.
            counted: Outcome = "not_refused"
        else:
            counted = outcome
        with self._changed:
            if attempt not in self._attempts:
                return
        # Before another attempt may begin.
        if outcome != "unanswered":
            self._settle(attempt, counted, sent)
        with self._changed:
            attempt.unanswered = outcome == "unanswered"
            if not attempt.unanswered:
                self._attempts.remove(attempt)
            for key, after in self._after(attempt, counted, sent, directory=directory):
                if after:
                    self._backoffs[key] = after
                else:
                    self._backoffs.pop(key, None)
            self._note_accepted(attempt, counted)
            self._changes += not attempt.accepted or outcome in ("refused", "dropped")
            self._changed.notify_all()
        self._write()

    def close(self) -> None:
        """Count what is in progress as not refused, unless it waits for an answer: it is cut off by our own end."""
        with self._changed:
            ended = {attempt for attempt in self._attempts if not attempt.unanswered}
            self._attempts -= ended
            self._changes += 1
        for attempt in ended:
            self._settle(attempt, "not_refused", 0)
        self._write()
        self._refusals.close()

    def _reserve(self, attempt: Attempt, deadline: float) -> None:
        """Wait until no other process tries one of the accounts, and count the attempt as refused until it has ended.

        Raises NotAllowedError.
        """
        accounts = attempt.before
        while not self._refusals.hold(accounts):
            if self._clock.monotonic() >= deadline:
                raise NotAllowedError(BUSY, is_busy=True)
            time.sleep(_POLL)
        refused, seconds = self._refusals.count(accounts)
        if refused >= MAX_REFUSALS and not self.once_more:
            self._refusals.release(accounts)
            raise NotAllowedError(
                f"was refused {refused} times within an hour, by whatever of this user: tried again in"
                f" {seconds / 60:.0f} min, or at once with `ase-exporter check --login-again`"
            )
        attempt.allowed = min(attempt.allowed, max(MAX_REFUSALS - refused, 1))
        attempt.began = self._clock.time()
        # A password that was accepted is counted once it is refused: a process that dies suspends none of those.
        if not attempt.accepted:
            self._refusals.note(accounts, attempt.began, 1)

    def _settle(self, attempt: Attempt, outcome: Outcome, sent: int) -> None:
        """Count an attempt as what it was, and let other processes try its accounts."""
        is_refused = outcome not in ("accepted", "not_refused")
        if outcome == "accepted" and self.once_more:
            self._refusals.forget(attempt.before)
        elif is_refused or not attempt.accepted:
            self._refusals.note(attempt.before, attempt.began, sent if is_refused else 0)
        self._refusals.release(attempt.before)

    def _decide(self, accounts: frozenset[Account], fingerprint: str) -> Attempt | None:
        """An attempt; None while another one at one of the accounts is in progress. Raises NotAllowedError."""
        before = {account: self._backoffs.get((account, fingerprint)) for account in accounts}
        backoffs = [each for each in before.values() if each]
        now = self._clock.monotonic()
        for backoff in backoffs:
            if reason := backoff.forbids(now):
                raise NotAllowedError(reason)
        unclear = any(each.unclear for each in backoffs)
        if any(
            not accounts.isdisjoint(attempt.before) or (unclear and attempt.is_alone)
            for attempt in self._attempts
        ):
            return None
        if any(each.is_exhausted and each.unclear == "directory" for each in backoffs):
            retry = next(iter(accounts)).user, fingerprint
            if now < self._directory_retries.get(retry, now):
                raise NotAllowedError("was refused; another target tries it this hour")
            self._directory_retries[retry] = now + HOURLY
        taken = any(self._accepted.get(account) == fingerprint for account in accounts)
        left = LOGIN_ATTEMPTS - max((each.times for each in backoffs), default=0)
        return Attempt(fingerprint, before, taken and not backoffs, max(left, 1))

    def _after(
        self, attempt: Attempt, outcome: Outcome, sent: int, *, directory: bool
    ) -> list[tuple[_Key, _Backoff | None]]:
        """The backoffs of an attempt's accounts after it."""
        pause = random.uniform(*TIMING.login_pause)
        found: list[tuple[_Key, _Backoff | None]] = []
        for account, before in attempt.before.items():
            after = before
            if outcome == "accepted":
                after = None
            elif outcome != "not_refused":
                now = self._clock.monotonic()
                after = (before or _Backoff()).after(outcome, sent, now, pause, directory=directory)
            found.append(((account, attempt.fingerprint), after))
        return found

    def _note_accepted(self, attempt: Attempt, outcome: Outcome) -> None:
        before = dict(self._accepted)
        for account in attempt.before:
            if outcome == "accepted":
                self._accepted[account] = attempt.fingerprint
                self._directory_retries.pop((account.user, attempt.fingerprint), None)
            elif outcome != "not_refused":
                self._accepted.pop(account, None)
        if self._memory is not None and self._accepted != before:
            content = json.dumps([[*account, fingerprint] for account, fingerprint in self._accepted.items()])
            line = content.encode() + b"\n"
            if len(line) <= len(self._memory):
                self._memory[: len(line)] = line

    def _load_accepted(self, memory: mmap.mmap) -> None:
        line = memory[: memory.find(b"\n") + 1]
        with contextlib.suppress(ValueError):
            # Of a process that died while it wrote, there may be half a line.
            entries = json.loads(line)
            self._accepted = {Account(host, port, user): used for host, port, user, used in entries}

    def _load(self) -> None:
        """Continue with the backoffs of the process before; with none if there is no file or it is damaged."""
        if self._path is None:
            return
        try:
            content: dict[str, Any] = json.loads(read_text(self._path))
            self._backoffs = dict(map(self._read, content["logins"]))
            content["salt"].encode()
            self._salt = content["salt"]
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
        unclear: _Unclear = next((each for each in _REASONS if each == entry["unclear"]), "")
        # NaN is not less.
        left = min(HOURLY if unclear else MAX_PAUSE, float(entry["until"]) - self._clock.time())
        account = Account(str(entry["host"]), int(entry["port"]), str(entry["user"]))
        backoff = _Backoff(max(int(entry["times"]), 1), self._clock.monotonic() + left, unclear)
        return (account, str(entry["password"])), backoff

    def _write(self) -> None:
        """Have all changes in the file that have been made until now; one write serves all who wait for it."""
        if self._path is None or self._changes == self._written:
            return
        with self._changed:
            wanted = self._changes
        with self._writing:
            if self._written >= wanted:
                return
            with self._changed:
                changes, backoffs = self._changes, self._backoffs | self._pending()
            ahead = self._clock.time() - self._clock.monotonic()
            entries = [
                account._asdict()
                | {
                    "password": fingerprint,
                    "times": each.times,
                    "until": each.until + ahead,
                    "unclear": each.unclear,
                }
                for (account, fingerprint), each in backoffs.items()
            ]
            try:
                content = json.dumps({"salt": self._salt, "logins": entries})
                write_bytes(self._path, content.encode(), 0o600, sync=True)
            except OSError as error:
                log.error("state directory: %s cannot be written: %s", FILE, error.strerror)
            self._written = changes

    def _pending(self) -> dict[_Key, _Backoff]:
        """What the backoffs will be if the process dies now: nobody will know how the attempts in progress end."""
        now = self._clock.monotonic()
        return {
            (account, attempt.fingerprint): (before or _Backoff()).after(
                "unknown", 1, now, 0.0, directory=False
            )
            for attempt in self._attempts
            if not attempt.accepted and not attempt.unanswered
            for account, before in attempt.before.items()
        }


@cache
def process_ledger() -> LoginLedger:
    """The ledger of a command, which counts together with all exporters and commands of this user."""
    return LoginLedger(shared=shared_directories())
