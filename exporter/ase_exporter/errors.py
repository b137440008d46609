"""The exceptions that cross rooms."""


class AseExporterError(Exception):
    """Root of all that this package raises on purpose."""


class UserError(AseExporterError):
    """Bad input: the message says in one line what, where and what was expected. Commands exit with 2."""


class UnreadableError(AseExporterError):
    """A server's answer is not what was asked for: it was damaged on its way, or is no answer of an ASE."""
