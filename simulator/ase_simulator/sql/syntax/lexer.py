"""Splits T-SQL text into tokens with line numbers."""

import re
from dataclasses import dataclass
from enum import Enum

from ase_simulator.sql.errors import SqlError


class Kind(Enum):
    """What a token is. NAME: a bracketed identifier, or a quoted one where quoted_identifier is on."""

    WORD = "word"
    NAME = "name"
    STRING = "string"
    NUMBER = "number"
    BINARY = "binary"
    VARIABLE = "variable"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; text: as written, but strings and names without their quotes."""

    kind: Kind
    text: str
    line: int
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords (any case)."""
        return self.kind is Kind.WORD and self.text.lower() in words

    def is_operator(self, text: str) -> bool:
        """Whether it is that operator or bracket."""
        return self.kind is Kind.OPERATOR and self.text == text

    @property
    def is_identifier(self) -> bool:
        """Whether it can name something."""
        return self.kind in (Kind.WORD, Kind.NAME)


_PATTERN = re.compile(
    r"""
    (?P<space>[\s\x00]+)
  | (?P<comment>--[^\n]*)
  | (?P<block>/\*)
  | (?P<binary>0[xX][0-9a-fA-F]*)
  | (?P<number>\$?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<variable>@@?[\w#$]+)
  | (?P<word>[^\W\d][\w$#]*|\#{1,2}[\w$#]+)
  | (?P<operator>\*=|=\*|<=|>=|<>|!=|!<|!>|\|\||[-+*/%&|^~=<>(),.;:{}])
    """,
    re.VERBOSE,
)
_CLOSING = {"'": "'", '"': '"', "[": "]"}


def tokenize(text: str, *, quoted_identifier: bool = False) -> list[Token]:
    """All tokens of a batch; raises SqlError 105 for an open quote, 113 for an open comment, 102 for a stray sign."""
    tokens: list[Token] = []
    position, line = 0, 1
    while position < len(text):
        opening = text[position]
        if opening in _CLOSING:
            value, end = _quoted(text, position, _CLOSING[opening])
            is_name = opening == "[" or (opening == '"' and quoted_identifier)
            tokens.append(Token(Kind.NAME if is_name else Kind.STRING, value, line, position, end))
        else:
            found = _PATTERN.match(text, position)
            if found is None:
                raise SqlError(102, opening)
            kind, end = str(found.lastgroup), found.end()
            if kind == "block":
                end = _end_of_comment(text, position)
            elif kind not in ("space", "comment"):
                tokens.append(Token(Kind[kind.upper()], found.group(), line, position, end))
        line += text.count("\n", position, end)
        position = end
    return tokens


def _quoted(text: str, start: int, closing: str) -> tuple[str, int]:
    position = start + 1
    while True:
        end = text.find(closing, position)
        if end < 0:
            raise SqlError(105, text[start + 1 : start + 41])
        if closing != "]" and text.startswith(closing, end + 1):
            position = end + 2
            continue
        return text[start + 1 : end].replace(closing * 2, closing), end + 1


def _end_of_comment(text: str, start: int) -> int:
    depth, position = 1, start + 2
    while depth:
        edge = re.compile(r"/\*|\*/").search(text, position)
        if edge is None:
            raise SqlError(113)
        depth += 1 if edge.group() == "/*" else -1
        position = edge.end()
    return position
