"""Capture files: gzip-compressed JSON Lines. The first line is the header, the last one the number of statements.

Dates are ISO 8601 without a zone, decimals text, bytes hexadecimal.
"""

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

import msgspec

from ase_exporter.ase.database_error import Kind
from ase_exporter.errors import UserError
from ase_exporter.regular_files import opened
from ase_exporter.untrusted.entry import one_line

FORMAT, VERSION = "ase-exporter capture", 1
# Stands in for the SQL of a failed login; a SQL comment, so replaying it is harmless.
LOGIN = "-- login"
# Bytes after decompression: a crafted file must not fill the memory.
MAX_SIZE = 256 << 20
# Bytes of a line, and how often these begin in a file: each takes many times its bytes. The largest tables have
# MAX_ROWS rows in one line.
MAX_LINE = 64 << 20
MAX_PARTS = {b"{": 500_000, b"[": 8_000_000}

_END = re.compile(r'\s*\{\s*"end"')

T = TypeVar("T")
Value = bool | int | float | str | bytes | Decimal | datetime | date | time | None
Number = Annotated[int, msgspec.Meta(ge=0)]
Scrape = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e9)]


class ColumnType(NamedTuple):
    """A column as the driver reports it. type: name of the Python type; size: characters, bytes or digits."""

    name: str
    type: Annotated[str, msgspec.Meta(pattern="^(bool|int|str|float|bytearray|Decimal|datetime|date|time)$")]
    size: Number
    scale: Number
    nullable: bool


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a statement: the messages before it, then the rows. columns: None without a result set."""

    messages: Sequence[str] = ()
    columns: Sequence[ColumnType] | None = None
    rows: Sequence[Sequence[Any]] = ()


def _decoded(result: Result) -> Result:
    """The result with the values that a line of a file stands for. Raises ValueError."""
    columns = result.columns or ()
    if any(len(row) != len(columns) for row in result.rows):
        raise ValueError(f"expected rows of {len(columns)} values")
    return replace(
        result,
        messages=list(result.messages),
        rows=[[_decode(*each) for each in zip(row, columns, strict=True)] for row in result.rows],
    )


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that a statement ended with: kind and number of `DatabaseError`."""

    kind: Kind
    number: Number | None
    text: str


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a statement, or a login that failed (LOGIN).

    scrape: counts from 1. seconds: until its last row was fetched. at: seconds from the begin of the capture to that
    of the statement; None if it is not known.
    """

    scrape: Scrape
    sql: str
    seconds: Seconds
    results: Sequence[Result] = ()
    error: Failure | None = None
    at: Seconds | None = None

    @property
    def rows(self) -> Sequence[Sequence[Value]]:
        """The rows of the first result set."""
        return next((result.rows for result in self.results if result.columns is not None), ())


@dataclass(frozen=True, slots=True)
class CaptureHeader:
    """Where a capture comes from.

    created: UTC, ISO 8601. names: `pseudonyms` or `kept`. driver: versions of pyodbc, the driver manager and FreeTDS.
    """

    exporter: str
    created: str
    scrapes: Scrape
    interval: Seconds
    names: Literal["pseudonyms", "kept"] = "kept"
    driver: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """A header and the statements in the order of their execution."""

    header: CaptureHeader
    statements: Sequence[Execution]


@dataclass(frozen=True, slots=True)
class _Format:
    format: Literal["ase-exporter capture"]
    version: Literal[1]


@dataclass(frozen=True, slots=True)
class _End:
    end: int


def dump(capture: Capture) -> bytes:
    """The content of a file. Equal captures give equal bytes."""
    return gzip.compress("".join(line + "\n" for line in lines(capture)).encode(), 9, mtime=0)


def lines(capture: Capture) -> Iterator[str]:
    """The lines of a file."""
    yield header_line(capture.header)
    for statement in capture.statements:
        yield statement_line(statement)
    yield end_line(len(capture.statements))


def header_line(header: CaptureHeader) -> str:
    """The first line of a file."""
    return _json(
        {"format": FORMAT, "version": VERSION} | asdict(header) | {"driver": dict(header.driver or {})}
    )


def statement_line(statement: Execution) -> str:
    """The line of one statement."""
    line: dict[str, Any] = {
        "scrape": statement.scrape,
        "sql": statement.sql,
        "seconds": round(statement.seconds, 6),
        "results": list(map(_result, statement.results)),
    }
    if statement.at is not None:
        line["at"] = round(statement.at, 6)
    if statement.error:
        line["error"] = asdict(statement.error)
    return _json(line)


def end_line(count: int) -> str:
    """The last line of a file. count: of the statements."""
    return _json({"end": count})


def load(path: Path) -> Capture:
    """Read a file. Raises UserError, in one line, if it is not a capture."""
    return parse(text_lines(path), str(path))


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a file, one by one, within its bounds. Raises UserError."""
    left, parts = MAX_SIZE, MAX_PARTS.copy()
    try:
        with opened(path) as packed, gzip.open(packed) as file:
            while line := file.readline(min(left, MAX_LINE) + 1):
                left -= len(line)
                if left < 0:
                    raise _not_a_capture(path, f"at most {MAX_SIZE >> 20} MiB of text")
                if len(line) > MAX_LINE:
                    raise _not_a_capture(path, f"lines of at most {MAX_LINE >> 20} MiB")
                for part in parts:
                    parts[part] -= line.count(part)
                    if parts[part] < 0:
                        raise _not_a_capture(path, f"at most {MAX_PARTS[part]:,} times {part.decode()}")
                yield line.decode()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise _not_a_capture(path, "a complete gzip file") from None
    except UnicodeDecodeError:
        raise _not_a_capture(path, "UTF-8 text") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def _not_a_capture(path: Path, expected: str) -> UserError:
    return UserError(f"{path}: not a capture: expected {expected}")


def parse(texts: Iterable[str], where: str) -> Capture:
    """A capture from the lines of a file. Raises UserError, with `where` and the line."""
    header, statements = read(texts, where)
    return Capture(header, list(statements))


def read(texts: Iterable[str], where: str) -> tuple[CaptureHeader, Iterator[Execution]]:
    """The header and, one by one, the statements of a file, given its lines. Both raise UserError, as `parse` does."""
    numbered = enumerate(texts, start=1)
    for number, text in numbered:
        _validated(_Format, text, f"{where}: line {number}")
        header = _validated(CaptureHeader, text, f"{where}: line {number}")
        return header, _statements(numbered, header, where)
    raise _incomplete(where)


def _statements(
    numbered: Iterator[tuple[int, str]], header: CaptureHeader, where: str
) -> Iterator[Execution]:
    for number, text in numbered:
        line = f"{where}: line {number}"
        if _END.match(text):
            # Behind the header, every line before this one is a statement.
            if _validated(_End, text, line).end != number - 2:
                raise UserError(f"{line}: end: expected {number - 2}, the number of statements")
            break
        statement = _validated(Execution, text, line)
        try:
            error = statement.error and replace(statement.error, text=one_line(statement.error.text))
            statement = replace(statement, results=list(map(_decoded, statement.results)), error=error)
        except ValueError as problem:
            raise UserError(f"{line}: {problem}") from None
        if statement.scrape > header.scrapes:
            raise UserError(f"{line}: scrape: expected at most {header.scrapes}, the header's number")
        yield statement
    else:
        raise _incomplete(where)
    for number, text in numbered:
        if text.strip():
            raise UserError(f"{where}: line {number}: expected nothing after the line `end`")


def _validated(form: type[T], text: str, where: str) -> T:
    try:
        return msgspec.json.decode(text, type=form)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UserError(f"{where}: expected a line of a capture: {error}") from None


def _incomplete(where: str) -> UserError:
    return UserError(f"{where}: not a complete capture: expected a last line with the key `end`")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("\x7f", "\\u007f")


def _result(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if result.messages:
        found["messages"] = list(result.messages)
    if result.columns is not None:
        found["columns"] = result.columns
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


# How values of each type of column are read, where they are not as JSON has them.
_DECODERS: dict[str, Callable[[str], Value]] = {
    "float": float,
    "bytearray": bytes.fromhex,
    "Decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
}
_JSON_TYPES = {"bool": bool, "int": int}


def _decode(value: Any, column: ColumnType) -> Value:
    if column.type == "str" and isinstance(value, str):
        return one_line(value)
    if value is None or type(value) is _JSON_TYPES.get(column.type):
        return cast(Value, value)
    try:
        if column.type == "float" and type(value) in (int, float):
            return float(value)
        if isinstance(value, str) and column.type in _DECODERS:
            return _DECODERS[column.type](value)
    except (ValueError, ArithmeticError):
        pass
    raise ValueError(f"{column.name or 'rows'}: expected {column.type}")
