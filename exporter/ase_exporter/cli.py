"""Entry point of `ase-exporter`: runs the command; errors become lines on stderr and an exit code."""

import codecs
import errno
import io
import os
import signal
import sys

from ase_exporter.commands import serving
from ase_exporter.errors import UserError
from ase_exporter.untrusted.entry import one_line

# What takes the place of standard streams that are closed. Output then fails, as to a full disk, instead of going to
# the next file that is opened.
_STAND_INS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)
# Of writing to a stream; errors of files have the file's name.
_OUTPUT_ERRORS = frozenset((errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE))
# What stands for characters that the encoding of standard output lacks.
_IN_ASCII = {"→": "->", "–": "-", "…": "...", "·": "-", "±": "+-", "µ": "u", "“": '"', "”": '"', "’": "'"}


def main() -> None:
    """Run the command of sys.argv. Bad input: one line on stderr, exit code 2; too little data: 1. Ctrl-C: 130.

    Output that cannot be written: exit code 1, with one line unless the reader of a pipe has left.
    """
    _replace_closed_streams()
    codecs.register_error("in_ascii", _in_ascii)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="in_ascii")
    try:
        try:
            _run(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename or error.errno not in _OUTPUT_ERRORS:
            raise
        # Drop what cannot be written: Python would try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"ase-exporter: standard output: {error.strerror}", file=sys.stderr)
        sys.exit(1)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["serve"]:
        # A reload that is asked for during the start waits until the process that serves handles it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    # Whoever starts it, with whatever umask: others read nothing that it writes. A command that `annotate` runs keeps
    # its own.
    if arguments[:1] != ["annotate"]:
        os.umask(os.umask(0o077) | 0o027)
    try:
        # A string to mypy, which would take all below for unreachable elsewhere.
        if (system := str(sys.platform)) != "linux":
            raise UserError(
                f"it needs Linux and its /proc, not {system}: use a virtual machine or a container"
            )
        if arguments[:1] == [serving.WORD]:
            serving.run(arguments)
        else:
            # Imported here because the processes that serve must not load typer.
            from ase_exporter.commands import app

            sys.exit(app.run())
    except UserError as error:
        for line in error.lines:
            print(f"ase-exporter: {one_line(line)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def _replace_closed_streams() -> None:
    for descriptor, flags in enumerate(_STAND_INS):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest descriptor that is free is this one.
            os.open(os.devnull, flags)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """In place of an error: a locale without UTF-8 must not end a command whose output has a name or an arrow."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(char, f"\\u{ord(char):04x}") for char in lacking), error.end
