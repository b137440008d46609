"""Decodes the tokens of a client's messages into requests."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import Fields
from ase_simulator.tds.packets import ProtocolError
from ase_simulator.tds.types import ENTRIES, DataType


@dataclass(frozen=True, slots=True)
class Language:
    """A batch of T-SQL."""

    sql: str


@dataclass(frozen=True, slots=True)
class NotSimulated:
    """A request that this server does not serve; what: as message 20999 calls it."""

    what: str


@dataclass(frozen=True, slots=True)
class SecurityMessage:
    """A MSG token and the bytes of its parameters: an answer in the exchange of encrypted passwords."""

    id: int
    parameters: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Logout:
    """The client leaves."""


Request = Language | NotSimulated | SecurityMessage | Logout

_PARAMFMT = 0xEC
_PARAMFMT2 = 0x20
_PARAMS = 0xD7
_NOT_SIMULATED = {
    **dict.fromkeys((0xE6, 0xE8), "remote procedure calls"),
    **dict.fromkeys((0x62, 0xE7), "prepared statements"),
    0xA6: "options of the protocol",
    **dict.fromkeys((0x10, 0x23, 0x80, 0x82, 0x83, 0x84, 0x86, 0x87, 0x88), "cursors of client libraries"),
}
_SHORT = {entry.token for entry in ENTRIES.values() if entry.family in ("characters", "binary")}


def read_requests(body: bytes, dialect: Dialect) -> list[Request]:
    """All requests of one message, in order; ProtocolError if it is not TDS 5.0.

    What follows one that is not simulated belongs to it.
    """
    fields = Fields(body)
    requests: list[Request] = []
    formats: list[int] = []
    while fields:
        token = fields.u1()
        last = requests[-1] if requests else None
        if token in _NOT_SIMULATED:
            return [*requests, NotSimulated(_NOT_SIMULATED[token])]
        if token in (_PARAMFMT, _PARAMFMT2) and isinstance(last, Language):
            return [*requests[:-1], NotSimulated("parameters of a batch")]
        if token == _PARAMFMT and isinstance(last, SecurityMessage):
            formats = _formats(fields.part(fields.u2()))
        elif token == _PARAMS and isinstance(last, SecurityMessage):
            requests[-1] = replace(last, parameters=[_value(fields, kind) for kind in formats])
        elif token in READERS:
            requests.append(READERS[token](fields, dialect))
        else:
            raise ProtocolError(f"unknown token 0x{token:02x}")
    return requests


def _formats(part: Fields) -> list[int]:
    """The data types of the parameters of a security message."""
    found = []
    for _ in range(part.u2()):
        part.short_bytes()  # name
        part.u1()  # status
        part.u4()  # user type
        found.append(part.u1())
        if found[-1] == DataType.LONGBINARY:
            part.u4()
        elif found[-1] in _SHORT:
            part.u1()
        else:
            raise ProtocolError(f"unknown parameter type 0x{found[-1]:02x}")
        part.short_bytes()  # locale
    return found


def _value(fields: Fields, kind: int) -> bytes:
    return fields.take(fields.u4()) if kind == DataType.LONGBINARY else fields.short_bytes()


def _language(fields: Fields, dialect: Dialect) -> Language:
    part = fields.part(fields.u4())
    part.u1()
    return Language(dialect.decode(part.rest()))


def _message(fields: Fields, _dialect: Dialect) -> SecurityMessage:
    part = fields.part(fields.u1())
    part.u1()
    return SecurityMessage(part.u2())


def _logout(fields: Fields, _dialect: Dialect) -> Logout:
    fields.u1()
    return Logout()


READERS: dict[int, Callable[[Fields, Dialect], Request]] = {
    0x21: _language,
    0x65: _message,
    0x71: _logout,
}
