"""Encodes the tokens of a server, except rows."""

from enum import IntEnum, IntFlag

from ase_simulator.results import EnvChange, Message
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import i4, u2, u4


class Done(IntFlag):
    """Status of a DONE token."""

    FINAL = 0x00
    MORE = 0x01
    ERROR = 0x02
    COUNT = 0x10
    ATTENTION = 0x20


class DoneToken(IntEnum):
    """After a statement of a batch, at the end of a procedure."""

    DONE = 0xFD
    DONEPROC = 0xFE


class LoginStatus(IntEnum):
    """Status of a LOGINACK token."""

    SUCCEED = 5
    FAIL = 6
    NEGOTIATE = 7


ENVIRONMENT = {"database": 1, "language": 2, "charset": 3}
_PACKET_SIZE = 4

# FreeTDS drops errors with a blank SQLSTATE; ASE sends ZZZZZ if it has none.
NO_SQLSTATE = b"ZZZZZ"
SQLSTATES = {
    1205: b"40001",
}
TDS_5_0 = bytes((5, 0, 0, 0))
MAX_TEXT = 16 * 1024


def done(status: int, count: int = 0, token: DoneToken = DoneToken.DONE) -> bytes:
    """The end of a statement, which says nothing of its transaction."""
    return bytes((token,)) + u2(status) + u2(0) + u4(count & 0xFFFFFFFF)


def message(dialect: Dialect, server: str, what: Message) -> bytes:
    """EED: an information message or an error."""
    text = dialect.cut(what.text, MAX_TEXT)
    body = b"".join(
        (
            i4(what.number),
            bytes((what.state & 0xFF, what.severity & 0xFF)),
            _short(SQLSTATES.get(what.number, NO_SQLSTATE)),
            bytes(1),
            u2(0),
            u2(len(text)),
            text,
            _short(dialect.cut(server, 255)),
            _short(dialect.cut(what.procedure, 255)),
            u2(what.line & 0xFFFF),
        )
    )
    return _sized(0xE5, body)


def environment(dialect: Dialect, change: EnvChange) -> bytes:
    return _environment(dialect, ENVIRONMENT[change.kind], change.new, change.old)


def packet_size(dialect: Dialect, new: int, old: int) -> bytes:
    return _environment(dialect, _PACKET_SIZE, str(new), str(old))


def _environment(dialect: Dialect, kind: int, new: str, old: str) -> bytes:
    body = bytes((kind,)) + _short(dialect.cut(new, 255)) + _short(dialect.cut(old, 255))
    return _sized(0xE3, body)


def login_answer(status: LoginStatus, version: bytes) -> bytes:
    """LOGINACK; version: four bytes of the server's version. Servers before 15.0 call themselves `sql server`."""
    name = b"ASE" if version[0] >= 15 else b"sql server"
    body = bytes((status,)) + TDS_5_0 + _short(name) + version
    return _sized(0xAD, body)


def capabilities(granted: bytes) -> bytes:
    return _sized(0xE2, granted)


def return_status(value: int) -> bytes:
    return b"\x79" + i4(value)


def security_message(number: int) -> bytes:
    """MSG that announces parameters."""
    return b"\x65\x03\x01" + u2(number)


def _sized(token: int, body: bytes) -> bytes:
    return bytes((token,)) + u2(len(body)) + body


def _short(data: bytes) -> bytes:
    return bytes((len(data),)) + data
