"""The login ledger: decides when a password may be tried, so that no account gets locked.

ASE locks a login that was refused a few times in a row. So an account is refused at most LOGIN_ATTEMPTS times an hour
since it was accepted last, by all exporters and commands of a user together, and a password that was refused that often
waits until it changes. An attempt counts as refused unless it is known not to be: a refusal may come in any form, or
after the timeout. Each attempt is in the file before it is sent, so that it outlives the process.
"""

import contextlib
import hashlib
import json
import mmap
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from ase_exporter.ase.login_file import Account as Account
from ase_exporter.ase.login_file import Known, LoginFile, OtherCause, Tried, shared_directories
from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock

LOGIN_ATTEMPTS = 2

# Seconds; also between attempts that follow if it may not have been the password. An outage of LDAP or PAM is answered
# like a wrong password (4002), and ends by itself. That locks nobody: ASE does not count what LDAP refuses (System
# Administration Guide, "Managing user accounts locally": no change in syslogins), and LDAP counts only what reaches
# it, which is a wrong password only if it was changed there. Directories forget failures within minutes.
HOURLY = 3600.0
# Values of @@authmech that mean that.
DIRECTORIES = frozenset(("ldap", "pam"))

# Seconds between two looks whether another process has been answered.
_POLL = 0.1

BUSY = "is being tried by another target, which has not been answered yet"
LOGIN_AGAIN = "or at once with `ase-exporter check --login-again`"

Outcome = Literal["accepted", "refused", "dropped", "unknown", "unanswered", "not_refused"]
"""How an attempt ended. accepted: a statement was answered after it; dropped: it was acknowledged, and then nothing was
answered; unanswered: it was sent, and its answer is still awaited; not_refused: no password was checked."""

_OTHER_CAUSES: dict[OtherCause, str] = {
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


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt that is allowed; its outcome must be reported.

    concerned: the accounts that its outcome is of; None for all of them. An address of the same name may be another
    server, of which nothing is known then. accepted: the server took the password before. allowed: how often it may
    be sent, to one address after the other. is_alone: no other one may begin of which an earlier outcome is not known
    either. After a crash all targets that were logging in are tried again one by one: if one of them crashes the
    driver, the next crash counts against none of the others.
    """

    accounts: frozenset[Account]
    fingerprint: str
    concerned: frozenset[Account] | None = None
    accepted: bool = False
    allowed: int = LOGIN_ATTEMPTS
    is_alone: bool = False
    unanswered: bool = False


class LoginLedger:
    """What is known of all accounts, and the attempts in progress. Thread-safe.

    directories: the file is in the first that can be written. memory: shared with the process that follows this one. It
    has what was accepted, as no file shall: a process that dies while targets log in suspends none of them.
    """

    def __init__(
        self, directories: Iterable[Path] = (), clock: Clock = SYSTEM_CLOCK, memory: mmap.mmap | None = None
    ) -> None:
        # Whether a password may be tried once more than it is usually, as its owner wants.
        self.once_more = False
        self._file = LoginFile(directories, clock)
        self._clock = clock
        self._changed = threading.Condition()
        self._attempts: set[Attempt] = set()
        # The fingerprint of the password that each account accepted last, until it is refused.
        self._accepted: dict[Account, str] = {}
        self._memory = memory
        # When a password that was refused may be tried again here: who starts another command has changed something.
        self._pauses: dict[tuple[Account, str], float] = {}
        # One directory counts for all servers: when the next target may try a user's password there again.
        self._directory_retries: dict[tuple[str, str], float] = {}
        # A search through memory in which nothing has been written would make all of it resident.
        if memory is not None and memory[0]:
            self._load_accepted(memory)

    def begin(self, accounts: frozenset[Account], password: str, deadline: float) -> Attempt:
        """Allow an attempt, which is in the file then. accounts: the names and addresses that a server has.

        Attempts at one account follow each other, so that the next one knows how the one before ended: waits for that
        until the deadline. Raises NotAllowedError.
        """
        attempt = Attempt(accounts, _fingerprint(password, self._file.salt))
        with self._changed:
            self._wait(lambda: all(accounts.isdisjoint(each.accounts) for each in self._attempts), deadline)
            self._attempts.add(attempt)
        try:
            while not self._file.hold(accounts):
                if self._clock.monotonic() >= deadline:
                    raise NotAllowedError(BUSY, is_busy=True)
                time.sleep(_POLL)
            self._allow(attempt, deadline)
        except BaseException:
            self._remove(attempt)
            raise
        return attempt

    def end(self, attempt: Attempt, outcome: Outcome, *, directory: bool = False, sent: int = 1) -> None:
        """Note how an attempt ended; after `unanswered`, another outcome may follow.

        directory: LDAP or PAM had accepted the password before. sent: how often it was sent.
        """
        with self._changed:
            if attempt not in self._attempts:
                return
            if outcome == "unanswered":
                attempt.unanswered, attempt.is_alone = True, False
                self._changed.notify_all()
                return
            if outcome == "unknown" and attempt.accepted:
                # A damaged answer, a server that hangs, or a driver that crashed: a password that was accepted is
                # hardly refused without a word.
                outcome = "not_refused"
            self._note_accepted(attempt, outcome)
        now = self._clock.time()
        with self._file.content() as content:
            for account in attempt.accounts:
                known = content.setdefault(account.key, Known())
                tried = known.passwords.pop(attempt.fingerprint, None) or Tried()
                tried.trying = False
                if attempt.concerned is not None and account not in attempt.concerned:
                    if tried.refused:
                        known.passwords[attempt.fingerprint] = tried
                    continue
                self._pauses.pop((account, attempt.fingerprint), None)
                if outcome == "accepted":
                    known.accepted = now
                    continue
                if outcome != "not_refused":
                    self.once_more = False
                    other_cause = tried.other_cause or ("" if outcome == "refused" else "unclear")
                    tried.note(
                        now, "directory" if directory else other_cause, times=sent, keep=LOGIN_ATTEMPTS
                    )
                    if tried.other_cause != "unclear":
                        pause = self._clock.monotonic() + TIMING.login_pause
                        self._pauses[account, attempt.fingerprint] = pause
                if tried.refused:
                    known.passwords[attempt.fingerprint] = tried
        self._remove(attempt)

    def close(self) -> None:
        """Count what is in progress as not refused, unless it waits for an answer: it is cut off by our own end."""
        with self._changed:
            ended = [attempt for attempt in self._attempts if not attempt.unanswered]
        for attempt in ended:
            self.end(attempt, "not_refused")
        self._file.close()

    def _wait(self, is_free: Callable[[], bool], deadline: float) -> None:
        """Wait for the ends of other attempts. Raises NotAllowedError at the deadline."""
        while not is_free():
            if (left := deadline - self._clock.monotonic()) <= 0:
                raise NotAllowedError(BUSY, is_busy=True)
            self._changed.wait(left)

    def _remove(self, attempt: Attempt) -> None:
        self._file.release(attempt.accounts)
        with self._changed:
            self._attempts.discard(attempt)
            self._changed.notify_all()

    def _allow(self, attempt: Attempt, deadline: float) -> None:
        """Note in the file that an attempt begins. Raises NotAllowedError if it must not."""
        now, is_alone, of_directory = self._clock.time(), False, ""
        with self._file.content() as content:
            for account in attempt.accounts:
                known = content.get(account.key, Known())
                for each in known.passwords.values():
                    if each.trying:
                        # Of a process that died: nobody knows how it ended, and when.
                        each.note(now, each.other_cause or "unclear", keep=LOGIN_ATTEMPTS)
                        each.trying = False
                tried = known.passwords.get(attempt.fingerprint)
                if not self.once_more and (why := _forbidden(known, tried, now)):
                    raise NotAllowedError(why)
                if self._clock.monotonic() < self._pauses.get((account, attempt.fingerprint), 0.0):
                    raise NotAllowedError(
                        "was refused: this password is tried again soon, another one at once"
                    )
                if tried and tried.other_cause == "directory" and len(tried.refused) >= LOGIN_ATTEMPTS:
                    of_directory = account.user
                is_alone = is_alone or (tried is not None and tried.other_cause != "")
                left = LOGIN_ATTEMPTS - max(len(tried.refused) if tried else 0, len(_recent(known, now)))
                attempt.allowed = min(attempt.allowed, max(left, 1))
                attempt.accepted |= self._accepted.get(account) == attempt.fingerprint and not tried
        if of_directory:
            retry = of_directory, attempt.fingerprint
            if now < self._directory_retries.get(retry, now):
                raise NotAllowedError("was refused; another target tries it this hour")
            self._directory_retries[retry] = now + HOURLY
        if is_alone:
            with self._changed:
                self._wait(lambda: not any(each.is_alone for each in self._attempts), deadline)
                attempt.is_alone = True
        # One that was accepted counts once it is refused: a process that dies suspends none of those.
        if not attempt.accepted:
            with self._file.content() as content:
                for account in attempt.accounts:
                    passwords = content.setdefault(account.key, Known()).passwords
                    passwords.setdefault(attempt.fingerprint, Tried()).trying = True

    def _note_accepted(self, attempt: Attempt, outcome: Outcome) -> None:
        before = dict(self._accepted)
        for account in attempt.concerned or attempt.accounts:
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


def _recent(known: Known, now: float) -> list[float]:
    """When an account was refused within the hour, with whatever passwords, since it was accepted last."""
    since = max(now - HOURLY, known.accepted)
    return sorted(at for tried in known.passwords.values() for at in tried.refused if at > since)


def _forbidden(known: Known, tried: Tried | None, now: float) -> str:
    """Why a password of an account must not be tried now; '' if it may be."""
    if tried and tried.refused:
        times = len(tried.refused)
        if times >= LOGIN_ATTEMPTS and not tried.other_cause:
            return f"was refused {times} times; waiting for a new password, {LOGIN_AGAIN}"
        if times >= LOGIN_ATTEMPTS and now < tried.refused[-1] + HOURLY:
            cause = _OTHER_CAUSES[tried.other_cause]
            return f"was refused {times} times; {cause}: tried again every hour, {LOGIN_AGAIN}"
    recent = _recent(known, now)
    if len(recent) < LOGIN_ATTEMPTS:
        return ""
    minutes = (recent[-LOGIN_ATTEMPTS] + HOURLY - now) / 60
    return (
        f"was refused {len(recent)} times within an hour, by whatever of this user: tried again in"
        f" {minutes:.0f} min, {LOGIN_AGAIN}"
    )


@cache
def process_ledger() -> LoginLedger:
    """The ledger of a command, which counts together with all exporters and commands of this user."""
    return LoginLedger(shared_directories())
