"""Login backoff: when a password may be tried again, so that no account gets locked.

An attempt counts as refused unless it is known not to be: a refusal may come in any form, or after the timeout.
"""

import hashlib
import hmac
import itertools
import random
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.clock import SYSTEM_CLOCK, Clock

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
# Of this process: each password is hashed once.
_SALT = secrets.token_hex(16)

Outcome = Literal["accepted", "refused", "unknown", "unanswered", "not_refused"]
"""Of an attempt. unanswered: it was sent, and its answer is still awaited; not_refused: no password was checked."""


class Account(NamedTuple):
    """A login of a server. host: a name or an address."""

    host: str
    port: int
    user: str


@lru_cache(1024)
def _scrypt(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(errors="replace"), n=1 << 13, r=8, p=1).hex()


@dataclass(frozen=True, slots=True)
class LoginBackoff:
    """A refused password, how often in a row it was refused, and when it may be tried again (monotonic).

    directory: LDAP or PAM had accepted it before. uncertain: an attempt may have ended in something else than a
    refusal. stored_hash: instead of the password, if the backoff was read from the state directory; see `hashed`.
    """

    password: str = field(repr=False)
    times: int
    until: float
    directory: bool = False
    uncertain: bool = False
    stored_hash: str = field(default="", repr=False)

    @property
    def is_exhausted(self) -> bool:
        """Whether the usual attempts are used up."""
        return self.times >= LOGIN_ATTEMPTS

    def is_of(self, password: str) -> bool:
        """Whether this is the password that was refused."""
        if not self.stored_hash:
            return password == self.password
        salt, _, digest = self.stored_hash.partition(":")
        # A damaged one may not be ASCII.
        return hmac.compare_digest(_scrypt(password, salt).encode(), digest.encode(errors="replace"))

    def hashed(self) -> str:
        """SALT:HASH of the password, to be stored."""
        if self.stored_hash:
            return self.stored_hash
        return f"{_SALT}:{_scrypt(self.password, _SALT)}"

    def forbids(self, now: float) -> str:
        """Why the password must not be tried now; '' if it may be."""
        if self.is_exhausted and not self.directory and not self.uncertain:
            return f"was refused {self.times} times; waiting for a new password"
        if now >= self.until:
            return ""
        if self.is_exhausted:
            why = "LDAP or PAM may be away" if self.directory else "or the server did not say so"
            return f"was refused {self.times} times; {why}: tried again every hour"
        return "was refused; waiting"

    def next(
        self, attempts: int, now: float, pause: float, *, directory: bool, uncertain: bool
    ) -> "LoginBackoff":
        """The backoff after more attempts. pause: seconds before the second attempt after a refusal."""
        times = self.times + attempts
        directory, uncertain = directory or self.directory, uncertain or self.uncertain
        if (directory or uncertain) and times >= LOGIN_ATTEMPTS:
            pause = HOURLY
        elif uncertain:
            pause = 0.0
        return replace(self, times=times, until=now + pause, directory=directory, uncertain=uncertain)


class Permit(NamedTuple):
    """The answer to a request to log in.

    denied: why not, '' if it is allowed. number: of the attempt, whose outcome must be noted. directory_retry: it is
    the hourly attempt of a password that a directory had accepted. accepted: the server took the password before.
    """

    denied: str
    number: int = 0
    directory_retry: bool = False
    accepted: bool = False


class LoginLedger(Protocol):
    """Decides which logins are tried."""

    def begin(self, accounts: frozenset[Account], password: str, deadline: float) -> Permit:
        """Ask to log in to a server that has these names and addresses; waits for another attempt until the deadline.

        Attempts at one account follow each other, so that the next one knows how the one before ended.
        """

    def note(self, number: int, outcome: Outcome, *, directory: bool = False, attempts: int = 1) -> None:
        """Say how an attempt ended; after `unanswered`, another outcome may follow.

        directory: LDAP or PAM had accepted the password before. attempts: how often it was sent.
        """


@dataclass(slots=True)
class _Attempt:
    """An attempt in progress. before: the backoffs of its accounts when it began."""

    accounts: frozenset[Account]
    password: str
    before: dict[Account, LoginBackoff | None] = field(default_factory=dict)


Changed = Callable[[Mapping[Account, list[LoginBackoff]]], None]


class LoginBackoffs:
    """The backoffs of all accounts, by password, and the attempts in progress. For one thread at a time.

    known: from the process before. changed: called with all of them after each change.
    """

    def __init__(
        self,
        known: Mapping[Account, list[LoginBackoff]] | None = None,
        changed: Changed = lambda _: None,
        clock: Clock = SYSTEM_CLOCK,
        timing: Timing = TIMING,
    ) -> None:
        self._of: dict[Account, list[LoginBackoff]] = dict(known or {})
        self._changed = changed
        self._clock = clock
        self._timing = timing
        self._numbers = itertools.count(1)
        self._attempts: dict[int, _Attempt] = {}
        self._busy: set[Account] = set()
        # The password that each account accepted last, until it is refused.
        self._accepted: dict[Account, str] = {}

    def begin(self, accounts: frozenset[Account], password: str) -> Permit | None:
        """As that of LoginLedger; None while another attempt at one of the accounts is in progress."""
        backoffs = [each for account in accounts if (each := self._find(account, password))]
        now = self._clock.monotonic()
        for backoff in backoffs:
            if reason := backoff.forbids(now):
                return Permit(reason)
        if self._busy & accounts:
            return None
        number = next(self._numbers)
        self._busy |= accounts
        attempt = self._attempts[number] = _Attempt(
            accounts, password, {account: self._find(account, password) for account in accounts}
        )
        retry = any(each.directory and each.is_exhausted for each in backoffs)
        return Permit("", number, retry, self._is_accepted(attempt))

    def note(self, number: int, outcome: Outcome, *, directory: bool = False, attempts: int = 1) -> None:
        """As that of LoginLedger."""
        attempt = self._attempts[number]
        if outcome != "unanswered":
            del self._attempts[number]
            self._busy -= attempt.accounts
        if outcome in ("unknown", "unanswered") and self._is_accepted(attempt):
            # A damaged answer, a server that hangs, or a driver that crashed: a password that was accepted is hardly
            # refused without a word.
            outcome = "not_refused"
        changed = False
        for account in attempt.accounts:
            backoff = attempt.before[account]
            if outcome == "accepted":
                self._accepted[account] = attempt.password
                backoff = None
            elif outcome != "not_refused":
                self._accepted.pop(account, None)
                backoff = (backoff or LoginBackoff(attempt.password, 0, 0.0)).next(
                    attempts,
                    self._clock.monotonic(),
                    random.uniform(*self._timing.login_pause),
                    directory=directory,
                    uncertain=outcome != "refused",
                )
            changed |= self._replace(account, attempt.password, backoff)
        if changed:
            self._changed(self._of)

    def _is_accepted(self, attempt: _Attempt) -> bool:
        return any(self._accepted.get(account) == attempt.password for account in attempt.accounts)

    def _find(self, account: Account, password: str) -> LoginBackoff | None:
        return next((each for each in self._of.get(account, ()) if each.is_of(password)), None)

    def _replace(self, account: Account, password: str, backoff: LoginBackoff | None) -> bool:
        """Keep this backoff of a password, or none; whether that changes anything."""
        before = self._find(account, password)
        if before == backoff:
            return False
        kept = [each for each in self._of.get(account, ()) if each is not before]
        kept += [backoff] if backoff else []
        if kept:
            self._of[account] = kept
        else:
            self._of.pop(account, None)
        return True


BUSY = "is being tried by another target, which has not been answered yet"


class LocalLedger:
    """The ledger of a process that logs in by itself. Thread-safe."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK, timing: Timing = TIMING) -> None:
        self._backoffs = LoginBackoffs(clock=clock, timing=timing)
        self._clock = clock
        self._ended = threading.Condition()

    def begin(self, accounts: frozenset[Account], password: str, deadline: float) -> Permit:
        """As that of LoginLedger."""
        with self._ended:
            while (permit := self._backoffs.begin(accounts, password)) is None:
                left = deadline - self._clock.monotonic()
                if left <= 0 or not self._ended.wait(left):
                    return Permit(BUSY)
            return permit

    def note(self, number: int, outcome: Outcome, *, directory: bool = False, attempts: int = 1) -> None:
        """As that of LoginLedger."""
        with self._ended:
            self._backoffs.note(number, outcome, directory=directory, attempts=attempts)
            self._ended.notify_all()


class DirectoryRetries:
    """Shares the hourly attempts of a login among the targets of a process, as one directory counts for all of them."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def take(self, user: str, password: str, now: float) -> bool:
        """Take this hour's attempt; False if another target has taken it."""
        with self._lock:
            if now < self._until.get((user, password), now):
                return False
            self._until[user, password] = now + HOURLY
            return True

    def release(self, user: str, password: str) -> None:
        """The password was accepted: all targets may try."""
        with self._lock:
            self._until.pop((user, password), None)


DIRECTORY_RETRIES = DirectoryRetries()
