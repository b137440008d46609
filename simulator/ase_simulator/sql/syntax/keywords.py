"""T-SQL keywords: reserved words, first words of statements, options of SET."""

from importlib.resources import files

import yaml

_WORDS: dict[str, str] = yaml.safe_load(
    files(__package__).joinpath("keywords.yaml").read_text(encoding="utf-8")
)

RESERVED = frozenset(_WORDS["reserved"].split())
STARTERS = frozenset(_WORDS["starters"].split())
ACCEPTED_SETTINGS = frozenset(_WORDS["accepted_settings"].split())
QUERY_WORDS = frozenset(_WORDS["query_words"].split())
