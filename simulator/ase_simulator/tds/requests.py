"""Decodes the tokens of a client's messages into requests."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum

from ase_simulator.contracts import Parameter
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import Fields
from ase_simulator.tds.packets import ProtocolError
from ase_simulator.tds.parameters import Format, read_formats, read_values


@dataclass(frozen=True, slots=True)
class Language:
    """A batch of T-SQL; `?` marks take the parameters."""

    sql: str
    parameters: list[Parameter] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """A remote procedure call."""

    procedure: str
    parameters: list[Parameter] = field(default_factory=list)


class DynamicKind(IntEnum):
    """What to do with a prepared statement."""

    PREPARE = 0x01
    EXECUTE = 0x02
    DEALLOCATE = 0x04
    EXECUTE_IMMEDIATE = 0x08
    PROCEDURE_NAME = 0x10
    ACKNOWLEDGE = 0x20
    DESCRIBE_INPUT = 0x40
    DESCRIBE_OUTPUT = 0x80


@dataclass(frozen=True, slots=True)
class Dynamic:
    """An operation on a prepared statement; wide: sent, and to be answered, as DYNAMIC2."""

    kind: DynamicKind
    id: str
    sql: str = ""
    wide: bool = False
    parameters: list[Parameter] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CursorRequest:
    """Any request about a server cursor, which is not simulated."""


@dataclass(frozen=True, slots=True)
class SecurityMessage:
    """A MSG token and its parameters: an answer in the exchange of encrypted passwords."""

    id: int
    parameters: list[Parameter] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OptionCommand:
    """Sets, clears or reads a session option."""

    command: int
    option: int
    value: bytes = b""


@dataclass(frozen=True, slots=True)
class Logout:
    """The client leaves."""


Request = Language | RpcRequest | Dynamic | CursorRequest | SecurityMessage | OptionCommand | Logout
_Parametrised = Language | RpcRequest | Dynamic | SecurityMessage

_PARAMFMT2 = 0x20
_PARAMFMT = 0xEC
_PARAMS = 0xD7


def read_requests(body: bytes, dialect: Dialect) -> list[Request]:
    """All requests of one message, in order; ProtocolError if it is not TDS 5.0."""
    fields = Fields(body, dialect.order)
    requests: list[Request] = []
    formats: list[Format] = []
    while fields:
        token = fields.u1()
        if token == _PARAMFMT:
            formats = read_formats(fields.part(fields.u2()), dialect, wide=False)
        elif token == _PARAMFMT2:
            formats = read_formats(fields.part(fields.u4()), dialect, wide=True)
        elif token == _PARAMS:
            parameters = read_values(fields, formats, dialect)
            last = requests[-1] if requests else None
            if not isinstance(last, _Parametrised):
                raise ProtocolError("parameters of nothing")
            requests[-1] = replace(last, parameters=parameters)
        elif token in READERS:
            requests.append(READERS[token](fields, dialect))
        else:
            raise ProtocolError(f"unknown token 0x{token:02x}")
    return requests


def _language(fields: Fields, dialect: Dialect) -> Language:
    part = fields.part(fields.u4())
    part.u1()
    return Language(dialect.decode(part.rest()))


def _call(fields: Fields, dialect: Dialect) -> RpcRequest:
    body = fields.take(fields.u2())
    part = Fields(body, dialect.order)
    # name length, name, two bytes of options: DBRPC2 may have a name length of two bytes
    length = part.u1() if body[:1] == bytes((max(len(body) - 3, 0) & 0xFF,)) else part.u2()
    name = dialect.decode(part.take(length))
    part.u2()
    return RpcRequest(name)


def _dynamic(fields: Fields, dialect: Dialect) -> Dynamic:
    return _dynamic_of(fields.part(fields.u2()), Fields.u2, dialect)


def _dynamic2(fields: Fields, dialect: Dialect) -> Dynamic:
    return replace(_dynamic_of(fields.part(fields.u4()), Fields.u4, dialect), wide=True)


def _dynamic_of(part: Fields, read_length: Callable[[Fields], int], dialect: Dialect) -> Dynamic:
    code = part.u1()
    try:
        kind = DynamicKind(code)
    except ValueError:
        raise ProtocolError(f"unknown dynamic operation 0x{code:02x}") from None
    part.u1()
    name = dialect.decode(part.short_bytes())
    sql = dialect.decode(part.take(read_length(part))) if part else ""
    return Dynamic(kind, name, sql)


def _cursor(length: Callable[[Fields], int]) -> Callable[[Fields, Dialect], CursorRequest]:
    def read(fields: Fields, _dialect: Dialect) -> CursorRequest:
        fields.take(length(fields))
        return CursorRequest()

    return read


def _message(fields: Fields, _dialect: Dialect) -> SecurityMessage:
    part = fields.part(fields.u1())
    part.u1()
    return SecurityMessage(part.u2())


def _option(fields: Fields, _dialect: Dialect) -> OptionCommand:
    part = fields.part(fields.u2())
    return OptionCommand(part.u1(), part.u1(), part.short_bytes() if part else b"")


def _logout(fields: Fields, _dialect: Dialect) -> Logout:
    fields.u1()
    return Logout()


READERS: dict[int, Callable[[Fields, Dialect], Request]] = {
    0x21: _language,
    0x62: _dynamic2,
    0x65: _message,
    0x71: _logout,
    **dict.fromkeys((0x10, 0x23), _cursor(Fields.u4)),
    **dict.fromkeys((0x80, 0x82, 0x83, 0x84, 0x86, 0x87, 0x88), _cursor(Fields.u2)),
    0xA6: _option,
    0xE7: _dynamic,
    **dict.fromkeys((0xE6, 0xE8), _call),
}
