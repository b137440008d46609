"""Capture files: gzip-compressed JSON Lines. The first line is the header, the last one the number of statements.

The simulator has a reader of its own (`ase_simulator.replay.file`); docs/capture.md describes the format.
"""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, cast, get_args

from ase_exporter.ase.database_error import Kind
from ase_exporter.errors import UserError

FORMAT = "ase-exporter capture"
VERSION = 1
# In place of the SQL of a statement: a login that failed. A comment, so that no exporter ever sends it.
LOGIN = "-- login"
# Bytes after decompression: a crafted file must not fill the memory.
MAX_SIZE = 256 << 20

# The number of seconds depends on when the statement is sent.
_SECONDS_AGO = re.compile(r"dateadd\(ss, -\d+,")

Value = bool | int | float | str | bytes | Decimal | datetime | date | time | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the driver reports it. type: name of the Python type; size: characters, bytes or digits."""

    name: str
    type: str
    size: int
    scale: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a statement: the messages before it, then the rows. columns: None without a result set."""

    messages: Sequence[str] = ()
    columns: Sequence[Column] | None = None
    rows: Sequence[Sequence[Value]] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that a statement ended with: kind and number of `DatabaseError`."""

    kind: Kind
    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One execution of a statement, or a login that failed (LOGIN).

    scrape: counts from 1. seconds: until its last row was fetched. at: seconds from the begin of the capture to that
    of the statement; None if it is not known.
    """

    scrape: int
    sql: str
    seconds: float
    results: Sequence[Result] = ()
    error: Failure | None = None
    at: float | None = None

    @property
    def rows(self) -> Sequence[Sequence[Value]]:
        """The rows of the first result set."""
        return next((result.rows for result in self.results if result.columns is not None), ())


@dataclass(frozen=True, slots=True)
class Header:
    """Where a capture comes from.

    created: UTC, ISO 8601. names: `pseudonyms` or `kept`. driver: versions of pyodbc, the driver manager and FreeTDS.
    statements_digest: of the statements that the exporter could send when it recorded the capture, '' if unknown.
    """

    exporter: str
    created: str
    scrapes: int
    interval: float
    names: str = "kept"
    driver: Mapping[str, str] | None = None
    statements_digest: str = ""


@dataclass(frozen=True, slots=True)
class Capture:
    """A header and the statements in the order of their execution."""

    header: Header
    statements: Sequence[Statement]


class _WrongError(Exception):
    """What is wrong with a line, as `PATH: expected WHAT`."""


def dump(capture: Capture) -> bytes:
    """The content of a file. Equal captures give equal bytes."""
    return gzip.compress("".join(line + "\n" for line in lines(capture)).encode(), 9, mtime=0)


def lines(capture: Capture) -> Iterator[str]:
    """The lines of a file."""
    yield header_line(capture.header)
    for statement in capture.statements:
        yield statement_line(statement)
    yield end_line(len(capture.statements))


def header_line(header: Header) -> str:
    """The first line of a file."""
    return _json(
        {
            "format": FORMAT,
            "version": VERSION,
            "exporter": header.exporter,
            "created": header.created,
            "scrapes": header.scrapes,
            "interval": header.interval,
            "names": header.names,
            "driver": dict(header.driver or {}),
            "statements_digest": header.statements_digest,
        }
    )


def statement_line(statement: Statement) -> str:
    """The line of one statement."""
    return _json(_statement(statement))


def end_line(count: int) -> str:
    """The last line of a file. count: of the statements."""
    return _json({"end": count})


def load(path: Path) -> Capture:
    """Read a file. Raises UserError, in one line, if it is not a capture."""
    return parse(text_lines(path), str(path))


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a file, one by one, at most MAX_SIZE bytes. Raises UserError."""
    left = MAX_SIZE
    try:
        with gzip.open(path) as file:
            while line := file.readline(left + 1):
                left -= len(line)
                if left < 0:
                    raise UserError(f"{path}: not a capture: expected at most {MAX_SIZE >> 20} MiB of text")
                yield line.decode()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{path}: not a capture: expected a complete gzip file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a capture: expected UTF-8 text") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def parse(texts: Iterable[str], where: str) -> Capture:
    """A capture from the lines of a file. Raises UserError, with `where` and the line."""
    header, statements = read(texts, where)
    return Capture(header, list(statements))


def read(texts: Iterable[str], where: str) -> tuple[Header, Iterator[Statement]]:
    """The header and, one by one, the statements of a file, given its lines. Both raise UserError, as `parse` does."""
    numbered = _numbered(texts, where)
    for number, line in numbered:
        with _located(where, number):
            header = _read_header(line)
        return header, _statements(numbered, header, where)
    raise _incomplete(where)


def _statements(
    numbered: Iterator[tuple[int, dict[str, Any]]], header: Header, where: str
) -> Iterator[Statement]:
    count = 0
    for number, line in numbered:
        with _located(where, number):
            if "end" not in line:
                count += 1
                statement = _read_statement(line, header.scrapes)
            elif line["end"] != count:
                raise _WrongError(f"end: expected {count}, the number of statements")
        if "end" in line:
            break
        yield statement
    else:
        raise _incomplete(where)
    for number, _ in numbered:
        with _located(where, number):
            raise _WrongError("line: expected nothing after the line `end`")


def _numbered(texts: Iterable[str], where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines with their numbers; only the last one may be empty."""
    empty = 0
    for number, text in enumerate(texts, start=1):
        with _located(where, empty or number):
            if empty:
                raise ValueError
            if not text.rstrip("\n"):
                empty = number
                continue
            line = _object(json.loads(text), "line")
        yield number, line


@contextmanager
def _located(where: str, number: int) -> Iterator[None]:
    try:
        yield
    except _WrongError as error:
        raise UserError(f"{where}: line {number}: {error}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{where}: line {number}: expected JSON") from None


def _incomplete(where: str) -> UserError:
    return UserError(f"{where}: not a complete capture: expected a last line with the key `end`")


def comparable(capture: Capture) -> Capture:
    """The capture without what no two captures share: when and how long, and the order that follows from names."""
    statements = [
        replace(each, seconds=0.0, at=None, sql=_SECONDS_AGO.sub("dateadd(ss, 0,", each.sql))
        for each in capture.statements
    ]
    return Capture(replace(capture.header, created=""), sorted(statements, key=lambda s: (s.scrape, s.sql)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _statement(statement: Statement) -> dict[str, Any]:
    line: dict[str, Any] = {
        "scrape": statement.scrape,
        "sql": statement.sql,
        "seconds": round(statement.seconds, 6),
        "results": [_result(result) for result in statement.results],
    }
    if statement.at is not None:
        line["at"] = round(statement.at, 6)
    if statement.error:
        error = statement.error
        line["error"] = {"kind": error.kind, "number": error.number, "text": error.text}
    return line


def _result(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if result.messages:
        found["messages"] = list(result.messages)
    if result.columns is not None:
        found["columns"] = [[c.name, c.type, c.size, c.scale, c.nullable] for c in result.columns]
        found["rows"] = [[_encode(value) for value in row] for row in result.rows]
    return found


def _encode(value: Value) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


def _decode_float(value: Any) -> float:
    return float(value) if isinstance(value, str) else float(_instance(value, (int, float)))


def _instance(value: Any, kinds: type | tuple[type, ...]) -> Any:
    # bool is an int to Python, but not to JSON.
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError
    return value


# How values of each type of column are read; they raise ValueError, TypeError or ArithmeticError.
_DECODERS: dict[str, Any] = {
    "bool": lambda value: _instance(value, bool),
    "int": lambda value: _instance(value, int),
    "float": _decode_float,
    "str": lambda value: _instance(value, str),
    "bytearray": lambda value: bytes.fromhex(_instance(value, str)),
    "Decimal": lambda value: Decimal(_instance(value, str)),
    "datetime": lambda value: datetime.fromisoformat(_instance(value, str)),
    "date": lambda value: date.fromisoformat(_instance(value, str)),
    "time": lambda value: time.fromisoformat(_instance(value, str)),
}


def _read_header(line: Mapping[str, Any]) -> Header:
    if line.get("format") != FORMAT:
        raise _WrongError(f"format: expected `{FORMAT}`")
    if line.get("version") != VERSION:
        raise _WrongError(f"version: expected {VERSION}: a capture of another version of ase-exporter")
    driver = _object(line.get("driver"), "driver")
    return Header(
        exporter=_text(line, "exporter"),
        created=_text(line, "created"),
        scrapes=_integer(line, "scrapes", minimum=1),
        interval=_number(line, "interval"),
        names=_choice(line, "names", ("pseudonyms", "kept")),
        driver={name: _text(driver, name) for name in driver},
        statements_digest=_text(line, "statements_digest") if "statements_digest" in line else "",
    )


def _read_statement(line: Mapping[str, Any], scrapes: int) -> Statement:
    scrape = _integer(line, "scrape", minimum=1)
    if scrape > scrapes:
        raise _WrongError(f"scrape: expected at most {scrapes}, the header's number")
    error = line.get("error")
    return Statement(
        scrape=scrape,
        sql=_text(line, "sql"),
        seconds=_number(line, "seconds"),
        results=[_read_result(_object(each, "results")) for each in _list(line, "results")],
        error=None if error is None else _read_failure(_object(error, "error")),
        at=_number(line, "at") if "at" in line else None,
    )


def _read_failure(error: Mapping[str, Any]) -> Failure:
    kind = cast(Kind, _choice(error, "kind", get_args(Kind)))
    number = None if error.get("number") is None else _integer(error, "number")
    return Failure(kind, number, _text(error, "text"))


def _read_result(result: Mapping[str, Any]) -> Result:
    messages = [_instance_of(each, str, "messages") for each in result.get("messages", [])]
    if "columns" not in result:
        return Result(messages)
    columns = [_read_column(each) for each in _list(result, "columns")]
    rows = [_read_row(row, columns) for row in _list(result, "rows")]
    return Result(messages, columns, rows)


def _read_column(column: Any) -> Column:
    if not isinstance(column, list) or len(column) != 5:
        raise _WrongError("columns: expected [name, type, size, scale, nullable]")
    name, kind, size, scale, nullable = column
    if kind not in _DECODERS:
        raise _WrongError(f"columns: expected a type of {', '.join(_DECODERS)}")
    _instance_of(name, str, "columns: name")
    for part, value in (("size", size), ("scale", scale)):
        if _instance_of(value, int, f"columns: {part}") < 0:
            raise _WrongError(f"columns: {part}: expected a number from 0")
    return Column(name, kind, size, scale, _instance_of(nullable, bool, "columns: nullable"))


def _read_row(row: Any, columns: Sequence[Column]) -> list[Value]:
    if not isinstance(row, list) or len(row) != len(columns):
        raise _WrongError(f"rows: expected {len(columns)} values")
    return [
        None if value is None else _read_value(value, column)
        for value, column in zip(row, columns, strict=True)
    ]


def _read_value(value: Any, column: Column) -> Value:
    try:
        return cast(Value, _DECODERS[column.type](value))
    except (ValueError, TypeError, ArithmeticError, InvalidOperation):
        raise _WrongError(f"rows: {column.name or 'value'}: expected {column.type}") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    return cast(dict[str, Any], _instance_of(value, dict, what))


def _list(line: Mapping[str, Any], key: str) -> Iterable[Any]:
    return cast(list[Any], _instance_of(line.get(key), list, key))


def _text(line: Mapping[str, Any], key: str) -> str:
    return cast(str, _instance_of(line.get(key), str, key))


def _choice(line: Mapping[str, Any], key: str, choices: Sequence[str]) -> str:
    text = _text(line, key)
    if text not in choices:
        raise _WrongError(f"{key}: expected one of {', '.join(choices)}")
    return text


def _integer(line: Mapping[str, Any], key: str, minimum: int = 0) -> int:
    value = _instance_of(line.get(key), int, key)
    if value < minimum:
        raise _WrongError(f"{key}: expected a number from {minimum}")
    return cast(int, value)


def _number(line: Mapping[str, Any], key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise _WrongError(f"{key}: expected seconds")
    return float(value)


_NAMES = {str: "text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}


def _instance_of(value: Any, kind: type, what: str) -> Any:
    try:
        return _instance(value, kind)
    except ValueError:
        raise _WrongError(f"{what}: expected {_NAMES[kind]}") from None
