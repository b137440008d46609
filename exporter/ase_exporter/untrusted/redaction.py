"""Takes secrets out of texts: what a server repeats of a password must reach no log, no page and no terminal.

Passwords are remembered when they are read. Every error of this package and every line of the log goes through
`redact`, which finds them as they are, reversed, in base64, in hexadecimal, or with characters escaped as in URLs, JSON
and HTML, and split by white space.
"""

import base64
import html
import re
from functools import lru_cache

REDACTED = "<password>"
# Shorter ones are found as whole words only, and not in encoded forms: they would be found in anything.
MIN_LENGTH = 6
# The last ones. A process has one for each login; those that were rotated are forgotten in the end.
MAX_SECRETS = 1024

# White space, which may be part of a secret, and escaped.
_BETWEEN = r"(?:\s|\\[nrt]|%20|\+|&#0*32;|&#x20;)*"
_BETWEEN_BYTES = r"(?:\\x|0x|[\s:,%-])*"
# Everything before an `@`, however malformed the URL is: a password may hold any character.
_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)
_secrets: dict[str, None] = {}


def remember(secret: str) -> None:
    """Have a secret redacted from now on."""
    if not secret.strip():
        return
    _secrets.pop(secret, None)
    _secrets[secret] = None
    if len(_secrets) > MAX_SECRETS:
        del _secrets[next(iter(_secrets))]


def redact(text: str) -> str:
    """The text without the secrets that are remembered."""
    for secret in list(_secrets):
        text = _pattern(secret).sub(REDACTED, text)
    return text


def without_credentials(url: str) -> str:
    """A URL as messages may show it: without the user and the password that may be in it."""
    return _CREDENTIALS.sub(lambda match: match[1] or "", url)


@lru_cache(MAX_SECRETS)
def _pattern(secret: str) -> re.Pattern[str]:
    characters = [_character(each) for each in secret if not each.isspace()]
    plain = _BETWEEN.join(characters)
    if len(characters) < MIN_LENGTH:
        return re.compile(rf"(?<!\w){plain}(?!\w)")
    data = secret.encode(errors="surrogateescape")
    forms = [
        plain,
        _BETWEEN.join(reversed(characters)),
        f"(?i:{_BETWEEN_BYTES.join(data.hex())})",
        *(_base64(data, offset) for offset in range(3)),
    ]
    return re.compile("|".join(forms))


def _character(character: str) -> str:
    """A pattern for a character, as it is or escaped."""
    code = ord(character)
    percent = "".join(f"%{byte:02x}" for byte in character.encode(errors="surrogateescape"))
    escaped = {f"&#{code};", f"&#x{code:x};", f"\\u{code:04x}", percent, html.escape(character)} - {character}
    forms = (r"\s*".join(map(re.escape, each)) for each in sorted(escaped))
    return f"(?:{re.escape(character)}|(?i:{'|'.join(forms)}))"


def _base64(data: bytes, offset: int) -> str:
    """A pattern for data in base64 after that many bytes, modulo three, of something else."""
    encoded = base64.b64encode(b"\0" * offset + data).decode()
    # The first and the last character also depend on what is around the data.
    inner = encoded[offset + bool(offset) : 8 * (offset + len(data)) // 6]
    return _BETWEEN.join({"+": "[+-]", "/": "[/_]"}.get(each, each) for each in inner)
