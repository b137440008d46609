"""Takes secrets out of texts: what a server repeats of a password must reach no log, no page and no terminal.

Passwords are remembered when they are read. Every error of this package and every line of the log goes through
`redact`, which finds them as they are and as URLs quote them, in any case.
"""

import re
from urllib.parse import quote, quote_plus, unquote

REDACTED = "<password>"
# Shorter ones are found as whole words only: they would be found in anything.
MIN_LENGTH = 6
# The last ones. A process has a few for each login; those that were rotated are forgotten in the end.
MAX_FORMS = 4096

# Our own names, which tell nothing and must not: a password that is a part of them would be what a mask hides in them.
_OWN = ("ase-exporter", "ase_exporter", "exporter.yaml")
# Everything before an `@`, however malformed the URL is: a password may hold any character.
_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)
# As they are and as URLs quote them, in lower case; the oldest first.
_secrets: dict[str, None] = {}


def remember(secret: str) -> None:
    """Have a secret redacted from now on."""
    if not secret.strip():
        return
    quoted = quote(secret, safe="", errors="replace"), quote(secret, errors="replace")
    for form in {secret, *quoted, quote_plus(secret, errors="replace")}:
        _secrets.pop(form.lower(), None)
        _secrets[form.lower()] = None
    while len(_secrets) > MAX_FORMS:
        del _secrets[next(iter(_secrets))]


def redact(text: str) -> str:
    """The text without the secrets that are remembered."""
    lowered = text.lower()
    found = [form for form in list(_secrets) if form in lowered]
    if not found:
        return text
    # A secret may hold another one.
    longest_first = sorted(found, key=len, reverse=True)
    return re.sub("|".join(map(_pattern, longest_first)), REDACTED, text, flags=re.IGNORECASE)


def _pattern(form: str) -> str:
    pattern = re.escape(form) if len(form) >= MIN_LENGTH else rf"(?<!\w){re.escape(form)}(?!\w)"
    parts = (name.partition(form) for name in _OWN if form in name and form != name)
    within = (f"(?<={before}){re.escape(form + after)}" for before, _, after in parts)
    return "".join(f"(?!{each})" for each in within) + pattern


def without_credentials(url: str) -> str:
    """A URL as messages may show it: without the user and the password that may be in it, which is remembered."""
    if found := _CREDENTIALS.match(url):
        remember(unquote(found[0].removeprefix(found[1] or "").removesuffix("@").partition(":")[2]))
    return _CREDENTIALS.sub(lambda match: match[1] or "", url)
