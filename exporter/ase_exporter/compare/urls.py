"""URLs as messages may show them: without the user and the password that may be in them."""

import re

_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)


def without_credentials(url: str) -> str:
    """The URL without anything before an `@`, however malformed it is: a password may hold any character."""
    return _CREDENTIALS.sub(lambda match: match[1] or "", url)
