"""The file of logins that were refused: one for all exporters and commands of a user.

An account is locked in it while its password is being tried, so that the next attempt, of whatever process, knows how
that one ended; the lock ends with its process. It has a salted hash of each password, not the password.
"""

import errno
import fcntl
import hashlib
import logging
import os
import secrets
import socket
import stat
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from io import FileIO
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ase_exporter.clock import SYSTEM_CLOCK, Clock

log = logging.getLogger(__name__)

FILE = "logins.json"
# Bytes. A file that is larger is not ours.
_MAX_SIZE = 4 << 20
_PACKAGED = Path("/var/lib/ase-exporter")
_LOOPBACK = "127.0.0.1"
_FINITE = ConfigDict(allow_inf_nan=False)


# Why it may not have been the password that was refused: LDAP or PAM had accepted it before, or an attempt may have
# ended in something else than a refusal.
OtherCause = Literal["", "directory", "unclear"]


class Account(NamedTuple):
    """A login of a server. host: a name or an address."""

    host: str
    port: int
    user: str

    @classmethod
    def of(cls, host: str, port: int, user: str) -> Self:
        """The account in one spelling. A server may compare logins without case, and ignores blanks at their end."""
        return cls(_one_spelling(host), port, user.rstrip().casefold())

    @property
    def key(self) -> str:
        """What it is called in the file."""
        text = f"{self.user}@{self.host}:{self.port}"
        return text.encode(errors="backslashreplace").decode()


@dataclass(config=_FINITE)
class Tried:
    """A password that was tried. Times are seconds since the epoch.

    refused: when it was refused, or may have been, in a row: the last ones. trying: whether an attempt is under way.
    """

    refused: list[float] = field(default_factory=list)
    other_cause: OtherCause = ""
    trying: bool = False

    def note(self, at: float, other_cause: OtherCause, *, times: int = 1, keep: int) -> None:
        """Note refusals; only the last ones are kept."""
        self.refused = [*self.refused, *[at] * times][-keep:]
        self.other_cause = other_cause


@dataclass(config=_FINITE)
class Known:
    """What is known of an account. accepted: when a password was. passwords: those that were refused, by hash."""

    accepted: float = 0.0
    passwords: dict[str, Tried] = field(default_factory=dict)


@dataclass
class _Content:
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    accounts: dict[str, Known] = field(default_factory=dict)


_CONTENT = TypeAdapter(_Content)


class LoginFile:
    """The file, in the first of some directories that can be written. Thread-safe.

    Without any, or while it cannot be written, only this process knows.
    """

    def __init__(self, directories: Iterable[Path] = (), clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        wanted = tuple(directories)
        self._file = next((file for directory in wanted if (file := _opened(directory))), None)
        if wanted and not self._file:
            log.warning(
                "%s cannot be kept in %s: refused logins are counted by this process alone, not with other commands",
                FILE,
                " or ".join(map(str, wanted)),
            )
        # What the file has, unless another process has changed it.
        self._content = _Content()
        self._written = b""
        with self.content():
            pass

    @property
    def salt(self) -> str:
        """Of the hashes of passwords."""
        return self._content.salt

    def close(self) -> None:
        """Give all locks up."""
        with self._lock:
            if self._file:
                self._file.close()
                self._file = None

    def hold(self, accounts: Iterable[Account]) -> bool:
        """Lock accounts; whether no other process has one of them."""
        with self._lock:
            if all(self._set_lock(fcntl.F_WRLCK, _offset(each)) for each in accounts):
                return True
        self.release(accounts)
        return False

    def release(self, accounts: Iterable[Account]) -> None:
        """Let other processes have accounts."""
        with self._lock:
            for each in accounts:
                self._set_lock(fcntl.F_UNLCK, _offset(each))

    @contextmanager
    def content(self) -> Iterator[dict[str, Known]]:
        """What is known of all accounts, by key, to be changed within the block."""
        with self._lock:
            self._set_lock(fcntl.F_WRLCK, 0, wait=True)
            try:
                self._read()
                yield self._content.accounts
                self._write()
            finally:
                self._set_lock(fcntl.F_UNLCK, 0)

    def _read(self) -> None:
        if self._file is None:
            return
        # A process that died while it wrote may have left the end of what was there before.
        content, line_end, _ = os.pread(self._file.fileno(), _MAX_SIZE, 0).partition(b"\n")
        if content == self._written or not content + line_end:
            return
        now = self._clock.time()
        try:
            found = _CONTENT.validate_json(content)
        except ValidationError:
            log.error("state directory: %s is damaged; starting without it", FILE)
            found = _Content()
        for known in found.accounts.values():
            # A clock that was wrong may have put it into the future.
            known.accepted = min(known.accepted, now)
            for tried in known.passwords.values():
                tried.refused = [min(at, now) for at in tried.refused]
        self._content, self._written = found, content

    def _write(self) -> None:
        accounts = self._content.accounts
        self._content.accounts = {key: known for key, known in accounts.items() if known.passwords}
        content = _CONTENT.dump_json(self._content)
        if self._file is None or content == self._written:
            return
        try:
            size = os.pwrite(self._file.fileno(), content + b"\n", 0)
            os.ftruncate(self._file.fileno(), size)
            self._written = content[:size]
            if size <= len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            log.error("state directory: %s cannot be written: %s", FILE, error.strerror)

    def _set_lock(self, kind: int, offset: int, *, wait: bool = False) -> bool:
        """Lock or unlock a byte for this process; whether it could. File systems without locks have none to lose."""
        command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
        try:
            if self._file:
                fcntl.fcntl(self._file, command, struct.pack("hhqqi", kind, os.SEEK_SET, offset, 1, 0))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            pass
        return True


def shared_directories(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Where everything that this user runs keeps the file: systemd's, the package's or the user's state directory."""
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


def _offset(account: Account) -> int:
    """The byte of the file that stands for an account's lock. Byte 0 stands for that of the content."""
    return 1 + int.from_bytes(hashlib.sha256(account.key.encode()).digest()[:7], "big")


def _opened(directory: Path) -> FileIO | None:
    """The file, unless it cannot be written, or others may write into its directory."""
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        if directory.stat().st_mode & stat.S_IWOTH:
            return None
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = FileIO(os.open(directory / FILE, flags, 0o600), "r+")
        owner, status = directory.stat(), os.fstat(file.fileno())
        # Whoever owns the directory may have linked a file of root.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            return None
        if os.geteuid() == 0:
            # Its service has another user, who continues with the file.
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        return file
    except OSError:
        pass
    return None
