"""ASE's names of character sets, and Python's."""

import csv
from importlib.resources import files

_TEXT = files(__package__).joinpath("charsets.csv").read_text(encoding="utf-8")
CODECS = {row["name"]: row["codec"] for row in csv.DictReader(_TEXT.splitlines())}


def codec(charset: str) -> str | None:
    """Python's name for an ASE character set; None where it is unknown."""
    return CODECS.get(charset.lower())
