"""Replaces names in a capture by pseudonyms: every word that ASE itself does not use.

The same word gets the same pseudonym everywhere in a file, with its length and classes of characters. The key is
random and not kept, so that names cannot be guessed from a file. Numbers and dates stay.

What a text column may keep depends on its class: public columns hold nothing but ASE's own words (monTableColumns),
text columns mix them with names (SpinlockName, messages), and all other columns hold names.
"""

import hashlib
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ase_exporter.assets import load_yaml
from ase_exporter.capture.file import Capture, ColumnType, Execution, Result, Value
from ase_exporter.catalogue.facts import COLUMNS, PROXY_COLUMNS
from ase_exporter.untrusted.encoders import sql_identifier, sql_literal

# Also marks that combine with letters, but no punctuation beyond ASCII.
_WORD = re.compile(r"(?:\w|[^\x00-\xbf\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20])+")
# IPv4, also as 10-0-0-1 in names of hosts; IPv6, also with IPv4 at its end; MAC addresses.
_ADDRESS = (
    r"\b\d{1,3}(?P<dot>[.-])\d{1,3}(?P=dot)\d{1,3}(?P=dot)\d{1,3}\b"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4})(?![\w:])"
)
_NO_ADDRESS = re.compile(r"\d\d?:\d\d(:\d\d)*|:{2,3}")
_DIGITS = re.compile(r"\d+")
_BANNER = re.compile(r"(SAP )?Adaptive Server Enterprise/[\w ./:()+,#-]{10,250}")
# Members of structures and the like in names of spinlocks.
_CODE = re.compile(r"(?<=->)\w+|\b\w*spin(lock)?s?\b", re.IGNORECASE)
_LITERAL = re.compile(r"'([^']*)'")
_IDENTIFIER = r"(?:\[(?:[^\]]|\]\])*\]|\w+)"
# The database in the statement that reads its cache bindings.
_IN_SQL = re.compile(rf"(?<= ){_IDENTIFIER}(?=\.\.(?:sysattributes a, (?!master\.)|sysobjects o))")
# The databases that a select over all of them leaves out.
_LEFT_OUT = re.compile(r"(?<=d\.name not in \('model')(?:, '(?:[^']|'')*')+")
# A name of so many digits is not taken for a number.
_MIN_DIGITS = 4
# What makes an escape with a backslash before it, which no name in SQL may have (untrusted/encoders).
_ESCAPES = "nrtxuU"
# Tables whose text columns are ASE's own.
_PUBLIC_TABLES = re.compile(r"from master\.\.(monWaitEventInfo|monWaitClassInfo|spt_values)\b")


class Pseudonyms:
    """Words and their pseudonyms. key: secret; equal keys give equal pseudonyms for words met in the same order."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._of: dict[str, str] = {}
        self._used: set[str] = set()
        self.names: set[str] = set()
        self._pattern = _text_pattern((), ())

    def __len__(self) -> int:
        return len(self._of)

    def word(self, word: str) -> str:
        """The pseudonym of a word: letters for letters, digits for digits, of the same case."""
        if word not in self._of:
            attempt = 0
            # Another word's pseudonym, a word of ASE or the word itself would be misleading. After a backslash,
            # some letters would make an escape of it. A word of which all forms are used becomes longer.
            while (
                (found := self._scrambled(word, attempt)) in self._used
                or found == word
                or found in vocabulary()
                or found[0] in _ESCAPES
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

    def text(self, text: str, keeps: Callable[[str], bool] = lambda _: False) -> str:
        """A text that may contain names: words that ASE does not use, and names of which it uses words.

        keeps: whether a word that ASE uses only in this kind of text stays.
        """
        if text.strip() in self.names:
            return self.name(text)

        def replaced(match: re.Match[str]) -> str:
            part = match[0]
            if match["name"]:
                return self.name(part)
            if match["address"]:
                return (
                    part if _NO_ADDRESS.fullmatch(part) else _WORD.sub(lambda word: self.word(word[0]), part)
                )
            return part if _is_known(part) or keeps(part) else self.word(part)

        return self._pattern.sub(replaced, text)

    def spinlock(self, text: str) -> str:
        """A name of a spinlock: members of structures stay, too."""
        kept = {match[0] for match in _CODE.finditer(text)} - self.names
        return self.text(text, kept.__contains__)

    def banner(self, text: str) -> str:
        """@@version. Its version may look like an address."""
        product, _, rest = text.partition("/")
        number, slash, rest = rest.partition("/")

        def replaced(match: re.Match[str]) -> str:
            return match[0] if _is_known(match[0]) or _is_platform(match[0]) else self.word(match[0])

        return f"{product}/{_WORD.sub(replaced, number)}{slash}{self.text(rest, _is_platform)}"

    def recognize_names(self) -> None:
        """Prepare for texts: names of which ASE uses words, or with numbers, are replaced as a whole.

        A name of nothing but words of ASE is replaced only where no other word is beside it.
        """
        certain, ambiguous = [], []
        for name in self.names:
            known = [_is_known(word) for word in _WORD.findall(name)]
            if all(known) and not (name.isdigit() and len(name) >= _MIN_DIGITS):
                ambiguous.append(name)
            elif any(known):
                certain.append(name)
        self._pattern = _text_pattern(certain, ambiguous)


def _text_pattern(certain: Iterable[str], ambiguous: Iterable[str]) -> re.Pattern[str]:
    """Finds the parts of a text that may have to be replaced: names, addresses and words."""

    def any_of(names: Iterable[str]) -> str:
        return "|".join(map(re.escape, sorted(names, key=lambda name: (-len(name), name)))) or "(?!)"

    return re.compile(
        rf"(?P<name>(?<!\w)(?:{any_of(certain)})(?!\w)"
        rf"|(?:(?<=bufspin )|(?<!\w)(?<!\w ))(?:{any_of(ambiguous)})(?!\w| \w))"
        rf"|(?P<address>{_ADDRESS})|{_WORD.pattern}"
    )


def with_pseudonyms(capture: Capture, key: bytes, names: Iterable[str] = ()) -> tuple[Capture, Pseudonyms]:
    """The capture without names, and the pseudonyms used. names: those that texts may have besides."""
    pseudonyms = Pseudonyms(key)
    for name in names:
        pseudonyms.name(name)
    hiding = _Hiding(pseudonyms, _columns_by_table(capture))
    # All names have to be known before texts can be searched for them.
    for each in capture.statements:
        hiding.statement(each, only_names=True)
    pseudonyms.recognize_names()
    statements = [hiding.statement(each, only_names=False) for each in capture.statements]
    header = replace(capture.header, names="pseudonyms")
    return replace(capture, header=header, statements=statements), pseudonyms


def _columns_by_table(capture: Capture) -> dict[str, set[str]]:
    """The columns of the monitoring tables in lower case, as monTableColumns has them."""
    columns: dict[str, set[str]] = {}
    for statement in capture.statements:
        if statement.sql.startswith(COLUMNS):
            for table, column, *_ in statement.rows:
                columns.setdefault(str(table).strip(), set()).add(str(column).strip().lower())
    return columns


class _Hiding:
    """Replaces the names in statements."""

    def __init__(self, pseudonyms: Pseudonyms, tables: Mapping[str, Set[str]]) -> None:
        self._pseudonyms = pseudonyms
        self._tables = tables

    def statement(self, statement: Execution, *, only_names: bool) -> Execution:
        """The statement without names. only_names: leave texts alone."""
        sql, error = statement.sql, statement.error
        return replace(
            statement,
            sql=_LEFT_OUT.sub(self._left_out, _IN_SQL.sub(self._database, sql)),
            results=[self._result(sql, each, only_names) for each in statement.results],
            error=error and (error if only_names else replace(error, text=self._pseudonyms.text(error.text))),
        )

    def _database(self, match: re.Match[str]) -> str:
        name = match[0]
        if name.startswith("["):
            name = name[1:-1].replace("]]", "]")
        return sql_identifier(self._pseudonyms.name(name))

    def _left_out(self, match: re.Match[str]) -> str:
        names = [name.replace("''", "'") for name in re.findall(r"'((?:[^']|'')*)'", match[0])]
        return "".join(f", {sql_literal(self._pseudonyms.name(name))}" for name in names)

    def _result(self, sql: str, result: Result, only_names: bool) -> Result:
        rows, described = result.rows, result.columns
        if described is not None:
            columns = [
                self._column(sql, each, [row[index] for row in rows], only_names)
                for index, each in enumerate(described)
            ]
            if sql == PROXY_COLUMNS:
                rows = [self._proxy(row) for row in rows]
            else:
                rows = list(map(list, zip(*columns, strict=True))) if rows else []
        messages = result.messages if only_names else list(map(self._pseudonyms.text, result.messages))
        return Result(messages, described, rows)

    def _proxy(self, row: Sequence[Value]) -> Sequence[Value]:
        """A table in master and a column of it: somebody may have created a table whose name begins with mon."""
        table, column = (str(value).strip() for value in row)
        if column.lower() in self._tables.get(table, ()):
            return row
        return [
            table if table in self._tables else self._pseudonyms.name(table),
            self._pseudonyms.name(column),
        ]

    def _column(self, sql: str, column: ColumnType, values: Sequence[Value], only_names: bool) -> list[Value]:
        if column.type == "bytearray":
            return [
                value and bytes(len(value)) for value in values if value is None or isinstance(value, bytes)
            ]
        replaced = self._replacement(sql, column.name) if column.type == "str" else None
        if replaced is None or (only_names and replaced != self._pseudonyms.name):
            return list(values)
        # An expression without a name may give a literal; a column may give the same word as a name.
        literals = set() if column.name else set(_LITERAL.findall(sql))

        def value_of(value: Value) -> Value:
            if not isinstance(value, str) or value in literals:
                return value
            if "@@version" in sql and _BANNER.fullmatch(value.strip()):
                return value if only_names else self._pseudonyms.banner(value)
            return replaced(value)

        return [value_of(value) for value in values]

    def _replacement(self, sql: str, column: str) -> Callable[[str], str] | None:
        """What replaces the values of a text column; None if they are ASE's own."""
        if (
            column in _words()["public_columns"]
            or _PUBLIC_TABLES.search(sql)
            or sql.startswith((COLUMNS, PROXY_COLUMNS))
        ):
            return None
        if column == "SpinlockName":
            return self._pseudonyms.spinlock
        return (
            self._pseudonyms.text
            if column in _words()["text_columns"] or _is_text(sql)
            else self._pseudonyms.name
        )


def _is_text(sql: str) -> bool:
    """sp_sysmon, names of options, and tables without names of users."""
    return sql.startswith("sp_") or any(
        table in sql
        for table in ("master..sysconfigures", "master..monTask", "master..monWorkQueue", "monLicense")
    )


def _is_platform(word: str) -> bool:
    return _DIGITS.sub("#", word.lower()) in _words()["platforms"]


def _is_known(word: str) -> bool:
    return (
        (len(word) == 1 and word.isascii())
        or word.isdigit()
        or word in _known()
        or _DIGITS.sub("#", word) in _known()
    )


@cache
def _known() -> frozenset[str]:
    return vocabulary() | system_names()


def _of_class(letter: str, number: int) -> str:
    if letter.isdigit():
        return string.digits[number % 10]
    if letter.isalpha():
        letters = string.ascii_uppercase if letter.isupper() else string.ascii_lowercase
        return letters[number % 26]
    return letter if letter.isascii() else string.ascii_lowercase[number % 26]


@cache
def vocabulary() -> frozenset[str]:
    """Words that ASE uses in texts. `#` stands for digits."""
    return _read("vocabulary.txt")


@cache
def system_names() -> frozenset[str]:
    """Names of databases, logins, devices, caches and pools that every server has."""
    return _read("system_names.txt")


@cache
def _words() -> dict[str, frozenset[str]]:
    """The lists of privacy.yaml."""
    text = files(__package__).joinpath("privacy.yaml").read_text(encoding="utf-8")
    return {name: frozenset(words.split()) for name, words in load_yaml(text).items()}


def _read(file: str) -> frozenset[str]:
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("# "))
