"""Exceptions that several packages raise or catch."""


class AseExporterError(Exception):
    """Base class of all exceptions of this package."""


class UserError(AseExporterError):
    """Bad input. The message says in one line what, where and what was expected; commands exit with code 2."""


class UnreadableError(AseExporterError):
    """A server's answer does not fit the request: it was damaged in transit, or the server is not an ASE."""


def printable(text: str) -> str:
    """Text as one line, without the line breaks and the escape sequences that a server may put into it."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
