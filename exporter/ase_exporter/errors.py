"""Exceptions that several packages raise or catch."""

import importlib.util
import sys
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice

from ase_exporter.untrusted.redaction import redact

# Names that an error lists.
_MAX_NAMES = 20


class AseExporterError(Exception):
    """Base class of all exceptions of this package. Their texts may come from servers: secrets are redacted."""

    def __init__(self, text: str) -> None:
        super().__init__(redact(text))


class UserError(AseExporterError):
    """Bad input. The message says in one line what, where and what was expected; commands exit with code 2.

    lines: one for each of several problems.
    """

    exit_code = 2

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(map(redact, lines))


class NoDataError(UserError):
    """Nothing is wrong with the input, but too little was recorded to answer. The message says what to switch on."""

    exit_code = 1


def expected_names(name: str, known: Collection[str]) -> str:
    """What an error says behind an unknown name: the one that is most alike, and those that there are."""
    near = near_name(name, known) if len(known) > 1 else ""
    more = ["…"] if len(known) > _MAX_NAMES else []
    return f"{near}it has {', '.join([*islice(known, _MAX_NAMES), *more]) or 'none'}"


def near_name(name: str, known: Iterable[str]) -> str:
    """A question for the known name that is most alike, with a blank behind it; nothing if none is."""
    lower = {each.lower(): each for each in known}
    return "".join(f"did you mean {lower[each]}? " for each in get_close_matches(name.lower(), lower, 1))


class MissingExtraError(UserError):
    """An optional part is not installed. The message has the command that installs it into this environment.

    what: what needs which library, such as "report needs numpy". instead: what works without, in brackets.
    """

    def __init__(self, what: str, extra: str, instead: str = "") -> None:
        super().__init__(
            f"{what}, which is not installed: {_pip()} install 'ase-exporter[{extra}]'{instead and f' ({instead})'}"
        )


def _pip() -> str:
    # By its environment, because the pip on PATH is another one's. The deb and the rpm have none.
    if importlib.util.find_spec("pip"):
        return f"{sys.executable} -m pip"
    return f"pip --python {sys.executable}"


class UnreadableError(AseExporterError):
    """A server's answer does not fit the request: it was damaged in transit, or the server is not an ASE."""
