"""Login backoff: when a refused password may be tried again, so that no account gets locked."""

import hashlib
import hmac
import secrets
import threading
from dataclasses import dataclass, field
from functools import lru_cache

# ASE may lock a login after a few failures, whenever they happen. A password that was refused this often is not
# tried again until it has changed or the exporter is restarted.
LOGIN_ATTEMPTS = 2

# An outage of LDAP or PAM is answered like a wrong password (4002), and ends by itself. A password that they accepted
# before is therefore tried again after this many seconds. That locks nobody: ASE does not count what LDAP refuses
# (System Administration Guide, "Managing user accounts locally": no change in syslogins), and LDAP counts only what
# reaches it, which is a wrong password only if it was changed there. Directories forget failures within minutes.
DIRECTORY_RETRY = 3600.0
# Values of @@authmech that mean that.
DIRECTORIES = frozenset(("ldap", "pam"))
# Of this process: each password is hashed once.
_SALT = secrets.token_hex(16)


@lru_cache(1024)
def _scrypt(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(errors="replace"), n=1 << 13, r=8, p=1).hex()


@dataclass(frozen=True, slots=True)
class LoginBackoff:
    """A refused password, how often in a row it was refused, and when it may be tried again (monotonic).

    directory: LDAP or PAM had accepted it before. stored_hash: instead of the password, if the backoff was read from
    the state directory; see `hashed`.
    """

    password: str = field(repr=False)
    times: int
    until: float
    directory: bool = False
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

    def forbids(self, password: str, now: float) -> str:
        """Why this password must not be tried now; '' if it may be."""
        if not self.is_of(password):
            return ""
        if self.is_exhausted and not self.directory:
            return f"refused {self.times} times; waiting for a new password"
        if now >= self.until:
            return ""
        if self.is_exhausted:
            return f"refused {self.times} times; LDAP or PAM may be away: tried again every hour"
        return "was refused; waiting"


@dataclass(frozen=True, slots=True)
class LoginBackoffs:
    """Both backoffs of one target: of the login for scrapes and of the one that runs sp_sysmon.

    sysmon_halted: sp_sysmon cleared counters, and is not run again.
    """

    scrape: LoginBackoff | None = None
    sysmon: LoginBackoff | None = None
    sysmon_halted: bool = False


def next_backoff(
    previous: LoginBackoff | None, password: str, now: float, pause: float, *, directory: bool = False
) -> LoginBackoff:
    """The backoff after one more refusal of a password. pause: seconds before the second attempt.

    directory: LDAP or PAM had accepted the password before; known to `previous` if it is the same password.
    """
    same = previous if previous and previous.is_of(password) else None
    times = (same.times if same else 0) + 1
    directory = directory or (same is not None and same.directory)
    seconds = DIRECTORY_RETRY if directory and times >= LOGIN_ATTEMPTS else pause
    return LoginBackoff(password, times, now + seconds, directory)


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
            self._until[user, password] = now + DIRECTORY_RETRY
            return True

    def release(self, user: str, password: str) -> None:
        """The password was accepted: all targets may try."""
        with self._lock:
            self._until.pop((user, password), None)


DIRECTORY_RETRIES = DirectoryRetries()
