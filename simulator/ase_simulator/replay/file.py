"""Reads capture files: gzip-compressed JSON Lines that `ase-exporter capture` writes.

The types of columns are Python's, as pyodbc reports them. They and the sizes determine the types on the wire.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from ase_simulator.results import Column, Result, Rows, Type, TypeName
from ase_simulator.results import Message as ServerMessage
from ase_simulator.sql.types.rules import RANGES

FORMAT = "ase-exporter capture"
VERSION = 1
MAX_SIZE = 256 << 20
_MAX_VARCHAR = 16_384
# The highest severity of a message that is no error.
_INFORMATION = 10


class CaptureError(Exception):
    """A file that is no capture. The message says in one line what, where and what was expected."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One execution of a statement. ended: how the exporter's connection ended it, '' if it did not fail."""

    scrape: int
    sql: str
    results: Sequence[Result]
    ended: str = ""

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        last = self.results[-1] if self.results else None
        return bool(self.ended) or (isinstance(last, ServerMessage) and last.severity > _INFORMATION)


def read_capture(path: Path) -> list[Recorded]:
    """The statements of a file, in order. Raises CaptureError."""
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_SIZE + 1)
        texts = data.decode().split("\n")
    except OSError as error:
        reason = error.strerror or "expected a gzip file"
        raise CaptureError(f"{path}: {reason}") from None
    except (EOFError, zlib.error, UnicodeDecodeError):
        raise CaptureError(f"{path}: expected a complete gzip file with UTF-8 text") from None
    if len(data) > MAX_SIZE:
        raise CaptureError(f"{path}: expected at most {MAX_SIZE >> 20} MiB of text")
    return parse(texts, str(path))


def parse(texts: Sequence[str], where: str) -> list[Recorded]:
    """The statements in the lines of a file. Raises CaptureError, with `where` and the line."""
    number = 0
    statements: list[Recorded] = []
    end: object = None
    try:
        for number, text in enumerate(texts, start=1):
            if not text and number == len(texts):
                break
            line = _expect(json.loads(text), dict, "an object")
            if end is not None:
                raise ValueError("expected nothing after the line `end`")
            if number == 1:
                _check_header(line)
            elif "end" in line:
                end = line["end"]
            else:
                statements.append(_statement(line))
        if end != len(statements):
            raise ValueError(f"expected a last line with the key `end`: {len(statements)}")
    except json.JSONDecodeError:
        raise CaptureError(f"{where}: line {number}: expected JSON") from None
    except RecursionError:
        raise CaptureError(f"{where}: line {number}: expected less nesting") from None
    except ValueError as error:
        raise CaptureError(f"{where}: line {number}: {error}") from None
    return statements


def _check_header(line: Mapping[str, Any]) -> None:
    if line.get("format") != FORMAT:
        raise ValueError(f"format: expected `{FORMAT}`")
    if line.get("version") != VERSION:
        raise ValueError(f"version: expected {VERSION}")


def _statement(line: Mapping[str, Any]) -> Recorded:
    results: list[Result] = []
    for entry in _expect(line.get("results"), list, "results: a list"):
        result = _expect(entry, dict, "results: objects")
        for text in _expect(result.get("messages", []), list, "messages: a list"):
            message = ServerMessage(0, 10, 1, _expect(text, str, "messages: text"))
            results.append(message)
        if "columns" in result:
            results.append(_rows(result))
    ended = ""
    if line.get("error") is not None:
        error = _expect(line["error"], dict, "error: an object")
        kind = _expect(error.get("kind"), str, "error: kind: text")
        text = _expect(error.get("text"), str, "error: text: text")
        if error.get("number") is None:
            ended = kind
        else:
            number = _expect(error["number"], int, "error: number: a whole number")
            if not 0 <= number < 1 << 31:
                raise ValueError("error: number: expected a message number")
            results.append(ServerMessage(number, 16, 1, text))
    scrape = _expect(line.get("scrape"), int, "scrape: a whole number")
    return Recorded(scrape, _expect(line.get("sql"), str, "sql: text"), results, ended)


def _rows(result: Mapping[str, Any]) -> Rows:
    columns = [_expect(each, list, "columns: lists") for each in _expect(result["columns"], list, "columns")]
    rows = [_expect(each, list, "rows: lists") for each in _expect(result.get("rows"), list, "rows: a list")]
    for column in columns:
        if [type(part) for part in column] != [str, str, int, int, bool] or column[1] not in _KINDS:
            raise ValueError("columns: expected [name, type, size, scale, nullable]")
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"rows: expected {len(columns)} values")
    by_column: list[list[object]] = []
    types: list[Column] = []
    for index, (name, kind, size, scale, nullable) in enumerate(columns):
        decode, typed = _KINDS[kind]
        try:
            values = [None if row[index] is None else decode(row[index]) for row in rows]
            types.append(Column(name, typed(size, scale, values), nullable or None in values))
        except (ValueError, TypeError, ArithmeticError):
            raise ValueError(f"rows: {name or 'value'}: expected {kind}") from None
        by_column.append(values)
    return Rows(types, list(zip(*by_column, strict=True)) if columns else [])


def _expect(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"expected {what}")
    return value


def _instance(*kinds: type) -> Callable[[Any], Any]:
    def decode(value: Any) -> Any:
        if type(value) not in kinds:
            raise ValueError
        return value

    return decode


def _int_type(size: int, _: int, values: Sequence[Any]) -> Type:
    names: dict[int, TypeName] = {3: "tinyint", 5: "smallint", 10: "int", 19: "bigint", 20: "unsigned bigint"}
    name = names.get(size, "bigint")
    # The driver reports the same digits for unsigned smallint.
    if name == "smallint" and any(value is not None and value > 0x7FFF for value in values):
        name = "unsigned smallint"
    limits = RANGES[name]
    if any(value is not None and not limits[0] <= value <= limits[1] for value in values):
        raise ValueError
    return Type(name)


def _string_type(size: int, _: int, values: Sequence[Any]) -> Type:
    if not 0 < size <= _MAX_VARCHAR:
        return Type("text")
    # The length of varchar counts bytes.
    wide = any(value is not None and not value.isascii() for value in values)
    return Type("univarchar" if wide else "varchar", size)


def _binary_type(size: int, _: int, __: Sequence[Any]) -> Type:
    return Type("varbinary", size) if 0 < size <= _MAX_VARCHAR else Type("image")


def _decimal_type(size: int, scale: int, values: Sequence[Any]) -> Type:
    if not 0 < size <= 38 or not 0 <= scale <= size:
        raise ValueError
    limit = Decimal(10) ** (size - scale)
    if any(value is not None and not abs(value) < limit for value in values):
        raise ValueError
    return Type("numeric", precision=size, scale=scale)


def _by_size(default: TypeName, **names: TypeName) -> Callable[[int, int, Sequence[Any]], Type]:
    def typed(size: int, _: int, __: Sequence[Any]) -> Type:
        return Type(names.get(f"size{size}", default))

    return typed


# Python's type: how values are read, and the type on the wire by size, scale and values.
_KINDS: dict[str, tuple[Callable[[Any], Any], Callable[[int, int, Sequence[Any]], Type]]] = {
    "bool": (_instance(bool), _by_size("bit")),
    "int": (_instance(int), _int_type),
    "float": (lambda value: float(value) if type(value) in (int, float, str) else _instance()(value),
              _by_size("float", size24="real")),
    "str": (_instance(str), _string_type),
    "bytearray": (bytes.fromhex, _binary_type),
    "Decimal": (lambda value: Decimal(_instance(str)(value)), _decimal_type),
    "datetime": (datetime.fromisoformat, _by_size("datetime", size16="smalldatetime", size26="bigdatetime")),
    "date": (date.fromisoformat, _by_size("date")),
    "time": (time.fromisoformat, _by_size("time", size15="bigtime")),
}  # fmt: skip
