"""The error of a command line."""


class UsageError(Exception):
    """Bad input: one line that says what, where and what was expected."""
