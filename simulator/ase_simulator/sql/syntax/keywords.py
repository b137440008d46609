"""T-SQL keywords: reserved words, first words of statements, options of SET."""

from importlib.resources import files
from typing import Any

from ase_simulator.yaml_text import load_yaml

_WORDS: dict[str, Any] = load_yaml(files(__package__).joinpath("keywords.yaml").read_text(encoding="utf-8"))

RESERVED = frozenset(_WORDS["reserved"].split())
COMMANDS = frozenset(_WORDS["commands"].split())
STARTERS = frozenset(_WORDS["starters"].split())
ACCEPTED_SETTINGS = frozenset(_WORDS["accepted_settings"].split())
FIXED_SETTINGS: dict[str, str] = _WORDS["fixed_settings"]
QUERY_WORDS = frozenset(_WORDS["query_words"].split())
