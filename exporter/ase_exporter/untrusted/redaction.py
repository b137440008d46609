"""Takes secrets out of texts: what a server repeats of a password must reach no log, no page and no terminal.

Passwords are remembered when they are read. Every error of this package and every line of the log goes through
`redact`, which finds them as they are, in other case, reversed, in base64, in hexadecimal, or with characters escaped
as in URLs, JSON, HTML, SQL and Python, and split by white space, quotes or what has no shape.
"""

import base64
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

REDACTED = "<password>"
# Shorter ones are found as whole words only, and not in encoded forms: they would be found in anything.
MIN_LENGTH = 6
# The last ones. A process has one for each login; those that were rotated are forgotten in the end.
MAX_SECRETS = 1024

# Escapes of single characters; of those of bytes, as many as there are in a row.
_ESCAPES = re.compile(
    r"(?P<bytes>(?:(?:%|\\x)[0-9a-fA-F]{2})+)|&#(?P<decimal>\d{1,7});|&#[xX](?P<hex>[0-9a-fA-F]{1,6});"
    r"|&(?P<name>amp|lt|gt|quot|apos);|\\u(?P<unit>[0-9a-fA-F]{4})|\\U(?P<char>[0-9a-fA-F]{8})|\\(?P<blank>[nrt])"
)
_BYTE = re.compile(r"(?:%|\\x)(..)")
# Encodings in which servers and programs keep texts.
_ENCODINGS = ("utf-8", "latin-1", "utf-16-le")
# What programs put between or before the characters of a text.
_QUOTING = frozenset("+'\"\\")
# What may stand between the bytes of a secret in hexadecimal.
_BETWEEN_BYTES = re.compile(r"\\x|0x|[\s:,%-]", re.IGNORECASE)
_URL_SAFE = str.maketrans("-_", "+/")
_LAST = 0x10FFFF
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
    """The text without the secrets that are remembered. Takes time in proportion to its length."""
    if not _secrets:
        return text
    views = _views(text)
    spans = sorted(span for secret in list(_secrets) for span in _spans(secret, text, *views))
    found, end = "", 0
    for first, last in spans:
        if first >= end:
            found += text[end:first] + REDACTED
        end = max(end, last)
    return found + text[end:]


def redact_name(text: str) -> str:
    """The same for names of logins, programs and hosts, of which a server has few: each is searched once."""
    return _redacted_name(text, tuple(_secrets))


@lru_cache(8192)
def _redacted_name(text: str, _: tuple[str, ...]) -> str:
    return redact(text)


class _View(NamedTuple):
    """A text in which secrets are searched: what stands in between is left out, and escapes are what they stand for.

    spans: where each of its characters is in the text, by begin and end.
    """

    text: str
    spans: Sequence[tuple[int, int]]

    def find(self, wanted: str) -> Iterator[tuple[int, int]]:
        """Where it is in the text."""
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            yield self.spans[at][0], self.spans[at + len(wanted) - 1][1]
            at = self.text.find(wanted, at + len(wanted))


def _views(text: str) -> tuple[_View, _View, _View, _View]:
    """The text as it is, with escapes as what they stand for, in hexadecimal, and in base64."""
    bare = _view((char, (at, at + 1)) for at, char in enumerate(text) if not char.isspace())
    gaps = {at for match in _BETWEEN_BYTES.finditer(text) for at in range(*match.span())}
    return (
        _view((_lower(char), span) for char, span in zip(*bare, strict=True) if _counts(char)),
        _view((_lower(char), span) for char, span in _unescaped(bare) if _counts(char)),
        _view((_lower(char), (at, at + 1)) for at, char in enumerate(text) if at not in gaps),
        bare._replace(text=bare.text.translate(_URL_SAFE)),
    )


def _lower(char: str) -> str:
    # Some letters become two.
    return char.lower() if len(char.lower()) == 1 else char


def _counts(char: str) -> bool:
    return char not in _QUOTING and char.isprintable() and not char.isspace()


def _view(characters: Iterable[tuple[str, tuple[int, int]]]) -> _View:
    found = list(characters)
    return _View("".join(char for char, _ in found), [span for _, span in found])


def _unescaped(view: _View) -> Iterator[tuple[str, tuple[int, int]]]:
    end = 0
    for match in _ESCAPES.finditer(view.text):
        yield from zip(view.text[end : match.start()], view.spans[end : match.start()], strict=True)
        end, at = match.end(), match.start()
        if match["bytes"]:
            found = list(_BYTE.finditer(view.text, at, end))
            data = bytes(int(byte[1], 16) for byte in found)
            at = 0
            for char in data.decode("utf-8", "surrogateescape"):
                size = len(char.encode(errors="surrogateescape"))
                first, last = found[at].start(), found[at + size - 1].end()
                # Bytes that are no UTF-8 are mostly Latin-1.
                known = char if data[at] < 0x80 or size > 1 else chr(data[at])
                yield known, (view.spans[first][0], view.spans[last - 1][1])
                at += size
        else:
            code = match["decimal"] or int(match["hex"] or match["unit"] or match["char"] or "0", 16)
            char = " " if match["blank"] else chr(min(int(code), _LAST))
            yield (
                html.unescape(match[0])[0] if match["name"] else char,
                (view.spans[at][0], view.spans[end - 1][1]),
            )
    yield from zip(view.text[end:], view.spans[end:], strict=True)


def _spans(
    secret: str, text: str, raw: _View, plain: _View, digits: _View, encoded: _View
) -> Iterator[tuple[int, int]]:
    wanted = "".join(map(_lower, filter(_counts, secret)))
    long = len(wanted) >= MIN_LENGTH
    found = [(match.start(), match.end()) for match in re.finditer(re.escape(secret), text)]
    for first, last in chain(found, raw.find(wanted), plain.find(wanted)):
        if long or not (_is_word(text[first - 1 : first]) or _is_word(text[last : last + 1])):
            yield first, last
    if not long:
        return
    for view in (raw, plain):
        yield from view.find(wanted[::-1])
    for data in _encodings(secret):
        yield from digits.find(data.hex())
        for offset in range(3):
            yield from encoded.find(_base64(data, offset))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


@lru_cache(MAX_SECRETS)
def _encodings(secret: str) -> frozenset[bytes]:
    found = set()
    for encoding in _ENCODINGS:
        with suppress(UnicodeEncodeError):
            found.add(secret.encode(encoding, "surrogateescape"))
    return frozenset(found)


@lru_cache(9 * MAX_SECRETS)
def _base64(data: bytes, offset: int) -> str:
    """Data in base64 after that many bytes, modulo three, of something else."""
    encoded = base64.b64encode(b"\0" * offset + data).decode()
    # The first and the last character also depend on what is around the data.
    return encoded[offset + bool(offset) : 8 * (offset + len(data)) // 6]


def without_credentials(url: str) -> str:
    """A URL as messages may show it: without the user and the password that may be in it, which is remembered."""
    if found := _CREDENTIALS.match(url):
        remember(unquote(found[0].removeprefix(found[1] or "").removesuffix("@").partition(":")[2]))
    return _CREDENTIALS.sub(lambda match: match[1] or "", url)
