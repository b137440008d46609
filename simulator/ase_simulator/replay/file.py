"""The statements of a capture, which ase-exporter reads, as results for the wire.

The types of columns are Python's, as pyodbc reports them. They and the sizes determine the types on the wire.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ase_exporter.capture.file import ColumnType, Execution, load
from ase_exporter.capture.file import Result as RecordedResult
from ase_simulator.results import Column, Result, Rows, Type, TypeName
from ase_simulator.results import Message as ServerMessage

_MAX_VARCHAR = 16_384
_MAX_PRECISION = 38
_MAX_MESSAGE = 2**31 - 1
# The highest severity of a message that is no error.
_INFORMATION = 10


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
    """The statements of a file, in order. Raises ase_exporter's UserError."""
    return [recorded(each) for each in load(path).statements]


def recorded(execution: Execution) -> Recorded:
    """One execution as results for the wire."""
    results = [result for each in execution.results for result in _results(each)]
    error, ended = execution.error, ""
    if error is not None and error.number is None:
        ended = error.kind
    elif error is not None:
        results.append(ServerMessage(min(error.number or 0, _MAX_MESSAGE), 16, 1, error.text))
    return Recorded(execution.scrape, execution.sql, results, ended)


def _results(result: RecordedResult) -> Iterator[Result]:
    for text in result.messages:
        yield ServerMessage(0, _INFORMATION, 1, text)
    if result.columns is not None:
        by_column = list(zip(*result.rows, strict=True)) or [()] * len(result.columns)
        pairs = zip(result.columns, by_column, strict=True)
        yield Rows([_column(column, values) for column, values in pairs], result.rows)


def _column(column: ColumnType, values: Sequence[Any]) -> Column:
    present = [value for value in values if value is not None]
    return Column(column.name, _TYPES[column.type](column, present), column.nullable or None in values)


def _int_type(column: ColumnType, values: Sequence[int]) -> Type:
    names: dict[int, TypeName] = {3: "tinyint", 5: "smallint", 10: "int", 19: "bigint", 20: "unsigned bigint"}
    name = names.get(column.size, "bigint")
    # The driver reports the same digits for unsigned smallint.
    return Type("unsigned smallint" if name == "smallint" and max(values, default=0) > 0x7FFF else name)


def _string_type(column: ColumnType, values: Sequence[str]) -> Type:
    if not 0 < column.size <= _MAX_VARCHAR:
        return Type("text")
    # The length of varchar counts bytes.
    return Type("varchar" if all(map(str.isascii, values)) else "univarchar", column.size)


def _binary_type(column: ColumnType, _: Sequence[bytes]) -> Type:
    return Type("varbinary", column.size) if 0 < column.size <= _MAX_VARCHAR else Type("image")


def _decimal_type(column: ColumnType, _: object) -> Type:
    precision = min(max(column.size, 1), _MAX_PRECISION)
    return Type("numeric", precision=precision, scale=min(column.scale, precision))


def _by_size(default: TypeName, **names: TypeName) -> Callable[[ColumnType, Sequence[Any]], Type]:
    return lambda column, _: Type(names.get(f"size{column.size}", default))


# Python's type -> the type on the wire, by column and values.
_TYPES: dict[str, Callable[[ColumnType, Sequence[Any]], Type]] = {
    "bool": _by_size("bit"),
    "int": _int_type,
    "float": _by_size("float", size24="real"),
    "str": _string_type,
    "bytearray": _binary_type,
    "Decimal": _decimal_type,
    "datetime": _by_size("datetime", size16="smalldatetime", size26="bigdatetime"),
    "date": _by_size("date"),
    "time": _by_size("time", size15="bigtime"),
}
