"""Exceptions that several packages raise or catch."""


class AseExporterError(Exception):
    """Base class of all exceptions of this package."""


class UserError(AseExporterError):
    """Bad input. The message says in one line what, where and what was expected; commands exit with code 2."""


class UnreadableError(AseExporterError):
    """A server's answer does not fit the request: it was damaged in transit, or the server is not an ASE."""
