"""ASE's names of character sets, and Python's."""

CODECS = {
    "ascii_8": "ascii",
    "big5": "big5",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1252": "cp1252",
    "cp437": "cp437",
    "cp850": "cp850",
    "cp932": "cp932",
    "eucjis": "euc_jp",
    "eucksc": "euc_kr",
    "gb18030": "gb18030",
    "iso_1": "iso8859-1",
    "iso15": "iso8859-15",
    "iso88592": "iso8859-2",
    "iso88595": "iso8859-5",
    "iso88597": "iso8859-7",
    "koi8": "koi8_r",
    "mac": "mac_roman",
    "roman8": "hp_roman8",
    "sjis": "shift_jis",
    "utf8": "utf-8",
}


def codec(charset: str) -> str | None:
    """Python's name for an ASE character set; None where it is unknown."""
    return CODECS.get(charset.lower())
