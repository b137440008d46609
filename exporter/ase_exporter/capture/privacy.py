"""Replaces names in a capture by pseudonyms: every word that ASE itself does not use.

The same word gets the same pseudonym everywhere in a file, with its length and classes of characters. The key is
random and not kept, so that names cannot be guessed from a file. Numbers and dates stay.

What a text column may keep depends on its class: public columns hold nothing but ASE's own words (monTableColumns),
text columns mix them with names (SpinlockName, messages), and all other columns hold names.
"""

import hashlib
import re
import string
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ase_exporter.capture.file import Capture, Column, Result, Statement, Value
from ase_exporter.catalogue.facts import COLUMNS, PROXY_COLUMNS

_WORD = re.compile(r"\w+")
_ADDRESS = re.compile(
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b|(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])", re.IGNORECASE
)
_TIME = re.compile(r"\d\d?:\d\d(:\d\d)*")
_DIGITS = re.compile(r"\d+")
_BANNER = re.compile(r"(SAP )?Adaptive Server Enterprise/[\w ./:()+,#-]{10,250}")
# Members of structures and the like in names of spinlocks.
_CODE = re.compile(r"(?<=->)\w+|\b\w*spin(lock)?s?\b", re.IGNORECASE)
_LITERAL = re.compile(r"'([^']*)'")
_IDENTIFIER = r"(?:\[(?:[^\]]|\]\])*\]|\w+)"
# The database in the statement that reads its cache bindings.
_IN_SQL = re.compile(rf"(?<= ){_IDENTIFIER}(?=\.\.(?:sysattributes a, (?!master\.)|sysobjects o))")
# Tables whose text columns are ASE's own.
_PUBLIC_TABLES = re.compile(r"from master\.\.(monWaitEventInfo|monWaitClassInfo|spt_values)\b")
# Columns whose values only ASE determines.
_PUBLIC_COLUMNS = frozenset(
    (
        *("ReplacementStrategy", "config_replacement", "run_replacement", "cache_type", "Type", "IOType"),
        *("OperationName", "ModuleName", "AllocatorName", "MemoryPoolName", "ConfigOption", "TypeName"),
        *("LockState", "LockType", "WaitLockType"),
    )
)
_TEXT_COLUMNS = frozenset(
    (
        *("SpinlockName", "Status", "status", "Edition", "Description", "value2"),
        *("io_size", "wash_size", "config_size", "run_size"),
    )
)


class Pseudonyms:
    """Words and their pseudonyms. key: secret; equal keys give equal pseudonyms for words met in the same order."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._of: dict[str, str] = {}
        self._used: set[str] = set()
        self.names: set[str] = set()
        self._ambiguous: re.Pattern[str] | None = None

    def __len__(self) -> int:
        return len(self._of)

    def word(self, word: str) -> str:
        """The pseudonym of a word: letters for letters, digits for digits, of the same case."""
        if word not in self._of:
            attempt = 0
            # Another word's pseudonym, a word of ASE or the word itself would be misleading. A word of which
            # all forms are used becomes longer.
            while (
                (found := self._scrambled(word, attempt)) in self._used
                or found == word
                or found in vocabulary()
            ):
                attempt += 1
            self._of[word] = found
            self._used.add(found)
        return self._of[word]

    def _scrambled(self, word: str, attempt: int) -> str:
        word += "x" * (attempt // 1000)
        digest = hashlib.shake_256(self._key + f"{attempt}:{word}".encode()).digest(2 * len(word))
        numbers = (int.from_bytes(digest[2 * i : 2 * i + 2], "big") for i in range(len(word)))
        return "".join(_of_class(letter, number) for letter, number in zip(word, numbers, strict=True))

    def name(self, text: str) -> str:
        """A value that is a name as a whole."""
        if text.strip() in system_names() or not text.strip():
            return text
        self.names.add(text.strip())
        return _WORD.sub(lambda match: self.word(match[0]), text)

    def text(self, text: str) -> str:
        """A text that may contain names: words that ASE does not use, and names that stand alone in it."""
        if text.strip() in self.names:
            return self.name(text)
        kept = {match[0] for match in _CODE.finditer(text)} - self.names
        if self._ambiguous:
            text = self._ambiguous.sub(lambda match: self.name(match[0]), text)
        text = _ADDRESS.sub(self._address, text)
        return _WORD.sub(lambda match: match[0] if match[0] in kept else self._text_word(match[0]), text)

    def recognize_names(self) -> None:
        """Prepare for texts: names of words that ASE uses, too, are replaced where no other word is beside them."""
        ambiguous = [name for name in self.names if all(map(_is_known, _WORD.findall(name)))]
        if ambiguous:
            names = "|".join(map(re.escape, sorted(ambiguous, key=len, reverse=True)))
            self._ambiguous = re.compile(rf"(?:(?<=bufspin )|(?<!\w)(?<!\w ))(?:{names})(?!\w| \w)")

    def _address(self, match: re.Match[str]) -> str:
        if _TIME.fullmatch(match[0]) or match[0] in ("::", ":::"):
            return match[0]
        return _WORD.sub(lambda part: self.word(part[0]), match[0])

    def _text_word(self, word: str) -> str:
        # Or a part of what has been replaced.
        return word if _is_known(word) or word in self._used else self.word(word)


def with_pseudonyms(capture: Capture, key: bytes) -> tuple[Capture, Pseudonyms]:
    """The capture without names, and the pseudonyms used."""
    pseudonyms = Pseudonyms(key)
    tables = frozenset(
        str(row[0]).strip()
        for statement in capture.statements
        if statement.sql.startswith(COLUMNS)
        for row in statement.rows
    )
    # All names have to be known before texts can be searched for them.
    for each in capture.statements:
        _statement(each, pseudonyms, tables, only_names=True)
    pseudonyms.recognize_names()
    statements = [_statement(each, pseudonyms, tables, only_names=False) for each in capture.statements]
    header = replace(capture.header, names="pseudonyms")
    return replace(capture, header=header, statements=statements), pseudonyms


def _statement(
    statement: Statement, pseudonyms: Pseudonyms, tables: frozenset[str], only_names: bool
) -> Statement:
    def database(match: re.Match[str]) -> str:
        return pseudonyms.name(match[0])

    sql = statement.sql
    error = statement.error
    return replace(
        statement,
        sql=_IN_SQL.sub(database, sql),
        results=[_result(sql, each, pseudonyms, tables, only_names) for each in statement.results],
        error=error and (error if only_names else replace(error, text=pseudonyms.text(error.text))),
    )


def _result(
    sql: str, result: Result, pseudonyms: Pseudonyms, tables: frozenset[str], only_names: bool
) -> Result:
    rows = result.rows
    if result.columns is not None and not sql.startswith(COLUMNS):
        columns = [[row[index] for row in result.rows] for index in range(len(result.columns))]
        if sql == PROXY_COLUMNS:
            columns = list(map(list, zip(*(_proxy(row, tables, pseudonyms) for row in rows), strict=True)))
        else:
            for index, column in enumerate(result.columns):
                columns[index] = _column(sql, column, columns[index], pseudonyms, only_names)
        rows = list(map(list, zip(*columns, strict=True))) if rows else []
    messages = result.messages if only_names else list(map(pseudonyms.text, result.messages))
    return replace(result, rows=rows, messages=messages)


def _proxy(row: Sequence[Value], tables: frozenset[str], pseudonyms: Pseudonyms) -> Sequence[Value]:
    """A table in master and a column of it: somebody may have created a table whose name begins with mon."""
    if str(row[0]).strip() in tables:
        return row
    return [pseudonyms.name(str(value)) for value in row]


def _column(
    sql: str, column: Column, values: Sequence[Value], pseudonyms: Pseudonyms, only_names: bool
) -> list[Value]:
    if column.type == "bytearray":
        return [value and bytes(len(value)) for value in values if value is None or isinstance(value, bytes)]
    if column.type != "str" or column.name in _PUBLIC_COLUMNS or _PUBLIC_TABLES.search(sql):
        return list(values)
    literals = set(_LITERAL.findall(sql))
    is_text = column.name in _TEXT_COLUMNS or _is_text(sql)
    if is_text and only_names:
        return list(values)
    replaced = pseudonyms.text if is_text else pseudonyms.name

    def value_of(value: Value) -> Value:
        if (
            not isinstance(value, str)
            or value in literals
            or ("@@version" in sql and _BANNER.fullmatch(value.strip()))
        ):
            return value
        return replaced(value)

    return [value_of(value) for value in values]


def _is_text(sql: str) -> bool:
    """Procedures, names of options, and tables without names of users."""
    return sql.startswith(("exec ", "sp_")) or any(
        table in sql
        for table in ("master..sysconfigures", "master..monTask", "master..monWorkQueue", "monLicense")
    )


def _is_known(word: str) -> bool:
    return len(word) == 1 or word.isdigit() or word in _known() or _DIGITS.sub("#", word) in _known()


@cache
def _known() -> frozenset[str]:
    return vocabulary() | system_names()


def _of_class(letter: str, number: int) -> str:
    if letter.isdigit():
        return string.digits[number % 10]
    if letter.isalpha():
        letters = string.ascii_uppercase if letter.isupper() else string.ascii_lowercase
        return letters[number % 26]
    return letter


@cache
def vocabulary() -> frozenset[str]:
    """Words that ASE uses in texts. `#` stands for digits."""
    return _read("vocabulary.txt")


@cache
def system_names() -> frozenset[str]:
    """Names of databases, logins, devices, caches and pools that every server has."""
    return _read("system_names.txt")


def _read(file: str) -> frozenset[str]:
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("# "))
