"""The login record and the exchange of encrypted passwords."""

import secrets
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Type
from ase_simulator.tds import tokens
from ase_simulator.tds.capabilities import served
from ase_simulator.tds.charsets import codec
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import Fields
from ase_simulator.tds.packets import DEFAULT_SIZE, ProtocolError
from ase_simulator.tds.requests import SecurityMessage
from ase_simulator.tds.rows import parameter_formats, parameter_values
from ase_simulator.tds.types import long_binary, wire_type

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

RECORD_SIZE = 568
NAME_SIZE = 30
BYTE_ORDER_AT = 124
LITTLE_ENDIAN = 3

WANTS_NONCE_ENCRYPTION = 0x80
CAPABILITY = 0xE2

KEY_AND_NONCE = 30
ENCRYPTED_PASSWORD = 31
NONCE_SIZE = 16
KEY_BITS = 2048


@dataclass(frozen=True, slots=True)
class LoginRecord:
    """The first message of a client.

    capabilities: of the client that are served. named_charset: it chose the character set. encrypted: its password
    follows, encrypted by the server's key.
    """

    request: LoginRequest
    dialect: Dialect
    capabilities: bytes
    packet_size: int
    named_charset: bool
    encrypted: bool


def read_login(body: bytes, charset: str, address: str) -> LoginRecord:
    """Decode a login record and the capabilities behind it.

    charset: the server's own, for clients that name none or one unknown.
    """
    if len(body) < RECORD_SIZE:
        raise ProtocolError(f"a login record of {len(body)} bytes, expected {RECORD_SIZE}")
    if body[BYTE_ORDER_AT] != LITTLE_ENDIAN:
        raise ProtocolError(f"not simulated: byte order {body[BYTE_ORDER_AT]}")
    fields = Fields(body)
    raw = _read_names(fields)
    wanted = raw["charset"].decode("ascii", "replace")
    used = wanted if codec(wanted) else charset
    capabilities = _capabilities(fields)
    dialect = Dialect(codec(used) or "ascii")
    text = {key: dialect.decode(value) for key, value in raw.items()}
    request = LoginRequest(
        user=text["user"],
        password=text["password"],
        hostname=text["hostname"],
        program=text["program"],
        language=text["language"] or "us_english",
        charset=used,
        library=text["library"],
        process=text["process"],
        address=address,
    )
    size = int(text["packet_size"]) if text["packet_size"].isdigit() else DEFAULT_SIZE
    encrypted = bool(raw["security"][0] & WANTS_NONCE_ENCRYPTION)
    return LoginRecord(request, dialect, capabilities, size, used == wanted, encrypted)


def _read_names(fields: Fields) -> dict[str, bytes]:
    """The record, field by field, as its layout has them."""
    raw = {
        "hostname": _name(fields),
        "user": _name(fields),
        "password": _name(fields),
        "process": _name(fields),
    }
    fields.take(16)  # representations of numbers and dates, flags
    raw["program"] = _name(fields)
    _name(fields)  # the server's name as the client calls it
    fields.take(256)  # remote passwords
    fields.take(4)  # TDS version
    raw["library"] = _name(fields, 10)
    fields.take(4 + 3)  # library version, more representations
    raw["language"] = _name(fields)
    fields.take(3)
    raw["security"] = fields.take(1)
    fields.take(10)  # bulk copy, failover session
    raw["charset"] = _name(fields)
    fields.take(1)
    raw["packet_size"] = _name(fields, 6)
    fields.take(4)
    return raw


def _name(fields: Fields, size: int = NAME_SIZE) -> bytes:
    data = fields.take(size)
    length = fields.u1()
    if length > size:
        raise ProtocolError(f"a name of {length} bytes where {size} is the most")
    return data[:length]


def _capabilities(fields: Fields) -> bytes:
    return served(fields.take(fields.u2())) if fields and fields.u1() == CAPABILITY else b""


class PasswordExchange:
    """One exchange of an encrypted password: the key and a nonce go out, nonce and password come back."""

    def __init__(self) -> None:
        self._nonce = secrets.token_bytes(NONCE_SIZE)

    def challenge(self, dialect: Dialect) -> bytes:
        """MSG and parameters: cipher, public key, nonce; each of the declared length, or FreeTDS crashes."""
        key = public_key()
        types = [
            wire_type(Type("int"), False, dialect),
            long_binary(len(key)),
            long_binary(len(self._nonce)),
        ]
        return b"".join(
            (
                tokens.security_message(KEY_AND_NONCE),
                parameter_formats(types),
                parameter_values(types, [1, key, self._nonce]),
            )
        )

    def password(self, answers: list[SecurityMessage], dialect: Dialect) -> str:
        """The password, or '' (valid for no login) if it was not encrypted with our key and nonce."""
        for answer in answers:
            if answer.id == ENCRYPTED_PASSWORD and answer.parameters:
                return self._decrypt(answer.parameters[0], dialect)
        return ""

    def _decrypt(self, value: bytes, dialect: Dialect) -> str:
        # Imported where a client encrypts its password: most never do, and it takes 7 MB.
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        scheme = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        try:
            clear = private_key().decrypt(value, scheme)
        except ValueError:
            return ""
        return dialect.decode(clear[NONCE_SIZE:]) if clear.startswith(self._nonce) else ""


@cache
def private_key() -> "RSAPrivateKey":
    """The key of this process, generated at first use."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)


@cache
def public_key() -> bytes:
    """The public key as PEM without a trailing newline."""
    from cryptography.hazmat.primitives import serialization

    form = serialization.PublicFormat.PKCS1
    return private_key().public_key().public_bytes(serialization.Encoding.PEM, form).rstrip(b"\n")
