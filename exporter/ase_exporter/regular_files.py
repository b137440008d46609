"""Reads files whose path comes from a user or lies in a directory of ours, where a FIFO would block for ever."""

import codecs
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ase_exporter.turn import TURN

if TYPE_CHECKING:
    import ssl

# No file that the exporter reads whole comes near it.
MAX_BYTES = 64 << 20

# What was expected, behind the system's words for what is wrong.
_TO_READ = {
    errno.ENOENT: "expected a file that exists",
    errno.ENOTDIR: "expected a file that exists",
    errno.EISDIR: "expected a file",
    errno.EACCES: "expected a file that this user may read",
}
_TO_WRITE = {
    errno.ENOENT: "expected a directory that exists",
    errno.ENOTDIR: "expected a directory that exists",
    errno.EEXIST: "expected a directory",
    errno.EISDIR: "expected a file",
    errno.EACCES: "expected a place where this user may write",
    errno.EROFS: "expected a place where this user may write",
    errno.ENOSPC: "expected a disk with space left",
}
_NEW = "expected a new file, or one of this user"


@contextmanager
def reading() -> Iterator[None]:
    """Adds what was expected to an OSError of a file that is opened to be read."""
    with _expecting(_TO_READ):
        yield


@contextmanager
def writing() -> Iterator[None]:
    """The same for a file or a directory that is made or written."""
    with _expecting(_TO_WRITE):
        yield


@contextmanager
def _expecting(expected: Mapping[int, str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        if error.strerror != os.strerror(number) or number not in expected:
            raise
        raise OSError(number, f"{error.strerror}: {expected[number]}", error.filename) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file, open to be read. Raises OSError, also for a FIFO and a device."""
    with reading():
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # Before it is a file, which would not close the descriptor of a directory.
        if not stat.S_ISREG(mode := os.fstat(descriptor).st_mode):
            os.close(descriptor)
            if stat.S_ISDIR(mode):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise OSError(errno.EINVAL, "not a regular file: expected a file")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a regular file. Raises OSError, also for a FIFO, a device or a file that is too large."""
    with opened(path) as file:
        # None of a file of /proc that has nothing to say now.
        content: bytes = file.read(max_bytes + 1) or b""
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {max_bytes >> 10} KiB")
    return content


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """The UTF-8 text of a regular file, with any line ends. Raises OSError, also for another encoding."""
    try:
        return read_bytes(path, max_bytes).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "not UTF-8 text: expected a text file that is saved as UTF-8") from None


def decoded(content: bytes) -> str:
    """The text of a file of another program: UTF-8 or UTF-16 as its first bytes say, or one of 8 bits per character."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def write_bytes(path: Path, content: bytes, mode: int = 0o640) -> None:
    """Replace a file of ours as a whole, by way of `*.new`. Raises OSError, also if that is a link or a FIFO."""
    new = path.with_suffix(".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    # A disk may hang.
    with TURN.given_up():
        with os.fdopen(os.open(new, flags, mode), "wb") as file:
            file.write(content)
        new.replace(path)


def create(path: Path) -> BinaryIO:
    """A file that a user names, emptied, or a stream of /dev, to write into.

    Raises OSError for a link and for a file of another user: whoever may write to its directory may have put it there.
    """
    is_stream = path.is_relative_to("/dev") or path.is_relative_to("/proc")
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (0 if is_stream else os.O_NOFOLLOW)
    try:
        with writing():
            file = os.fdopen(os.open(path, flags, 0o640), "wb")
    except OSError as error:
        raise OSError(error.errno, f"it is a link: {_NEW}") if error.errno == errno.ELOOP else error from None
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and not is_stream:
        is_own = status.st_uid == os.geteuid()
        if not is_own or status.st_nlink > 1:
            file.close()
            raise OSError(errno.EPERM, f"it {'is a link' if is_own else 'belongs to another user'}: {_NEW}")
        file.truncate(0)
    return file


def own_directory(path: Path) -> None:
    """Create a directory of ours, unless there is one. Raises OSError if others may write to it."""
    with writing():
        path.mkdir(mode=0o750, parents=True, exist_ok=True)
    if path.stat().st_mode & stat.S_IWOTH:
        raise OSError(errno.EPERM, "others may write to it: expected `chmod o-w`, or another directory")


def trusting(path: Path) -> "ssl.SSLContext":
    """A context of a client that trusts the certificates of a PEM file alone. Raises OSError."""
    # Imported here because OpenSSL takes 4 MB.
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        # Comments between certificates may hold anything.
        context.load_verify_locations(cadata=read_text(path).encode("ascii", "ignore").decode())
    except (ssl.SSLError, ValueError):
        raise OSError(errno.EINVAL, "no certificate in it: expected a PEM file") from None
    return context
