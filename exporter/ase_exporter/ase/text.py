"""Decodes text as the server sent it: FreeTDS hands over the bytes, which it cannot convert safely.

Where bytes are invalid in the server's character set, FreeTDS 1.3 ends the conversion without a length, and pyodbc then
returns up to 2,049 characters of whatever the memory holds, or an error that looks like a lost connection. Fetched as
binary data, a value has its announced length, always.
"""

import codecs
import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache

import pyodbc

from ase_exporter.untrusted.entry import one_line

# The default character set (configuration option 131), which ASE uses for a client that names none, as FreeTDS.
CHARSET = (
    "select c.name from master..syscharsets c, master..syscurconfigs u"
    " where u.config = 131 and c.id = u.value and c.type < 2000"
)
DEFAULT = "utf-8"

# Of unichar and univarchar: the server sends them in the byte order of the login, which is FreeTDS's.
_WIDE = f"utf-16-{sys.byteorder[0]}e"
_TEXT = (1, 12, -1)
_WIDE_TEXT = (-8, -9, -10)
# ASE's names where Python has another one for the character set, besides those of ISO 8859.
_PYTHON_NAMES = {
    "ascii_8": "latin-1",
    "deckanji": "euc_jp",
    "eucgb": "gb2312",
    "eucjis": "euc_jp",
    "eucksc": "euc_kr",
    "iso15": "iso8859-15",
    "iso_1": "latin-1",
    "koi8": "koi8_r",
    "mac": "mac_roman",
    "mac_cyr": "mac_cyrillic",
    "macgrk2": "mac_greek",
    "macturk": "mac_turkish",
    "roman9": "hp_roman8",
    "turkish8": "iso8859-9",
}


def python_codec(charset: str) -> str | None:
    """Python's name of one of ASE's character sets; None if Python does not have it."""
    name = re.sub(r"^iso8859(?=\d)", "iso8859-", charset.strip().lower())
    try:
        return codecs.lookup(_PYTHON_NAMES.get(name, name)).name
    except (LookupError, ValueError):
        return None


# Values whose text is kept: names are the same in each reading, and so they are one object for all who keep them.
_KEPT_TEXTS = 4096


@cache
def decoder(codec: str) -> Callable[[bytes], str]:
    r"""A function that decodes text to one line. Bytes that are invalid become `\xNN`, so that names stay different."""
    return lru_cache(_KEPT_TEXTS)(lambda data: one_line(data.decode(codec, "backslashreplace")))


def decode_text(connection: pyodbc.Connection, codec: str) -> None:
    """Have columns of text decoded from that character set, without a conversion by FreeTDS."""
    for kind in _TEXT:
        connection.add_output_converter(kind, decoder(codec))
    for kind in _WIDE_TEXT:
        connection.add_output_converter(kind, lambda data: one_line(data.decode(_WIDE, "replace")))
