"""Refused logins of each account within the last hour, counted for all exporters and commands of a user together.

They are in a file of the state directory. An account is locked in it while its password is being tried, so that the
next attempt, of whatever process, knows how that one ended; the lock ends with its process.
"""

import fcntl
import hashlib
import json
import logging
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import FileIO
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple, Self

from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.untrusted.entry import load_json

log = logging.getLogger(__name__)

# How often an account may be refused within so many seconds, with whatever passwords.
MAX_REFUSALS, WINDOW = 2, 3600.0
FILE = "refusals.json"
# Bytes. A file that is larger is not ours.
_MAX_SIZE = 4 << 20
_PACKAGED = Path("/var/lib/ase-exporter")
_LOOPBACK = "127.0.0.1"


class Account(NamedTuple):
    """A login of a server. host: a name or an address."""

    host: str
    port: int
    user: str

    @classmethod
    def of(cls, host: str, port: int, user: str) -> Self:
        """The account in one spelling. A server may compare logins without case, and ignores blanks at their end."""
        return cls(_one_spelling(host), port, user.rstrip().casefold())


# How many refusals there were at a time (epoch), by account.
_Refused = dict[str, dict[float, int]]


class Refusals:
    """The refusals of all accounts. Thread-safe.

    directories: where the files are, as far as they can be written; without any, only this process counts.
    """

    def __init__(self, directories: Iterable[Path] = (), clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._refused: _Refused = {}
        self._files = [each for directory in dict.fromkeys(directories) if (each := _opened(directory))]

    def close(self) -> None:
        """Give all locks up."""
        with self._lock:
            for file in self._files:
                file.close()
            self._files.clear()

    def hold(self, accounts: Iterable[Account]) -> bool:
        """Lock accounts; whether no other process has one of them."""
        keys = sorted(map(_key, accounts))
        with self._lock:
            if all(_lock(file, fcntl.F_WRLCK, _offset(key)) for file in self._files for key in keys):
                return True
        self.release(accounts)
        return False

    def release(self, accounts: Iterable[Account]) -> None:
        with self._lock:
            for file in self._files:
                for key in map(_key, accounts):
                    _lock(file, fcntl.F_UNLCK, _offset(key))

    def count(self, accounts: Iterable[Account]) -> tuple[int, float]:
        """How often the one that was refused most was refused within the hour; seconds until it is once less."""
        refused, now = self._update(lambda _: None), self._clock.time()
        worst = max((refused.get(_key(each), {}) for each in accounts), key=lambda each: sum(each.values()))
        return sum(worst.values()), min(worst, default=now) + WINDOW - now

    def note(self, accounts: Iterable[Account], at: float, times: int) -> None:
        """Note how often accounts were, or may have been, refused at a time, in place of what was noted for it."""
        keys = list(map(_key, accounts))

        def change(refused: _Refused) -> None:
            for key in keys:
                entry = refused.setdefault(key, {})
                entry.pop(at, None)
                if times:
                    entry[at] = times

        self._update(change)

    def forget(self, accounts: Iterable[Account]) -> None:
        """Forget the refusals of accounts."""
        keys = list(map(_key, accounts))

        def change(refused: _Refused) -> None:
            for key in keys:
                refused.pop(key, None)

        self._update(change)

    def _update(self, change: Callable[[_Refused], None]) -> _Refused:
        """Change what is known here and in each file; returns all of it."""
        found: _Refused = {}
        with self._lock:
            now = self._clock.time()
            self._refused = _recent(self._refused, now)
            change(self._refused)
            # What is in files may have been forgotten by another process.
            kept = bool(self._files)
            for file in self._files:
                _lock(file, fcntl.F_WRLCK, 0, wait=True)
                try:
                    content = os.pread(file.fileno(), _MAX_SIZE, 0)
                    refused = _recent(_parsed(content), now)
                    change(refused)
                    _write(file, content, refused)
                    _merge(found, refused)
                except OSError as error:
                    kept = False
                    log.error("%s cannot be written: %s", FILE, error.strerror)
                finally:
                    _lock(file, fcntl.F_UNLCK, 0)
            if not kept:
                _merge(found, self._refused)
        return found


def shared_directories(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Where everything that this user runs keeps refusals: systemd's, the package's or the user's state directory."""
    if given := environment.get("STATE_DIRECTORY", "").partition(":")[0]:
        return (Path(given),)
    home = environment.get("XDG_STATE_HOME") or f"{environment.get('HOME', '')}/.local/state"
    own = _PACKAGED if os.geteuid() == 0 else Path(home) / "ase-exporter"
    return (_PACKAGED, own) if os.access(_PACKAGED, os.W_OK) else (own,)


def _one_spelling(host: str) -> str:
    """A name in lower case; an address in its shortest form, and the first of loopback for all of this machine."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host.rstrip(".").lower()
    address = getattr(address, "ipv4_mapped", None) or address
    return _LOOPBACK if _is_here(address) else str(address)


def _is_here(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is an address of this machine: only those can be bound."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(address), 0))
        return True
    return False


def _key(account: Account) -> str:
    return f"{account.user}@{account.host}:{account.port}"


def _offset(key: str) -> int:
    """The byte of the file that stands for an account's lock. Byte 0 stands for that of the content."""
    return 1 + int.from_bytes(hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:7], "big")


def _opened(directory: Path) -> FileIO | None:
    """The file, unless it cannot be written, or others may write into its directory."""
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        if directory.stat().st_mode & stat.S_IWOTH:
            return None
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = FileIO(os.open(directory / FILE, flags, 0o600), "r+")
        owner = directory.stat()
        if os.geteuid() == 0:
            # Its service has another user, who continues with the file.
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
    except OSError:
        pass
    return None


def _lock(file: FileIO, kind: int, offset: int, *, wait: bool = False) -> bool:
    """Lock or unlock a byte for this process; whether it could. File systems without locks have none to lose."""
    command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
    try:
        fcntl.fcntl(file, command, struct.pack("hhqqi", kind, os.SEEK_SET, offset, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def _parsed(content: bytes) -> _Refused:
    """What a file says; nothing if it is damaged."""
    try:
        return {
            str(key): {float(at): max(int(times), 1) for at, times in entry}
            for key, entry in load_json(content or b"{}").items()
        }
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        log.error("%s is damaged; starting without it", FILE)
        return {}


def _write(file: FileIO, before: bytes, refused: _Refused) -> None:
    entries = {key: list(entry.items()) for key, entry in refused.items() if entry}
    content = json.dumps(entries).encode() if entries else b""
    if content != before:
        os.ftruncate(file.fileno(), os.pwrite(file.fileno(), content, 0))


def _recent(refused: _Refused, now: float) -> _Refused:
    """Those of the last hour. What a clock that was wrong has put into the future is of now. NaN is not greater."""
    found: _Refused = {}
    for key, entry in refused.items():
        if recent := {min(at, now): times for at, times in entry.items() if at > now - WINDOW}:
            found[key] = recent
    return found


def _merge(into: _Refused, refused: _Refused) -> None:
    for key, entry in refused.items():
        known = into.setdefault(key, {})
        known |= {at: max(times, known.get(at, 0)) for at, times in entry.items()}
