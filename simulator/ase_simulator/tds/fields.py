"""Reading and writing the fields of tokens in a client's byte order."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ase_simulator.tds.packets import ProtocolError

LITTLE_ENDIAN = "<"
BIG_ENDIAN = ">"


@dataclass(frozen=True)
class Layout:
    """Integers of 1 to 8 bytes in one byte order ('<' or '>')."""

    order: str

    @cached_property
    def u2(self) -> Callable[[int], bytes]:
        return struct.Struct(self.order + "H").pack

    @cached_property
    def u4(self) -> Callable[[int], bytes]:
        return struct.Struct(self.order + "I").pack

    @cached_property
    def i4(self) -> Callable[[int], bytes]:
        return struct.Struct(self.order + "i").pack

    @property
    def utf16(self) -> str:
        return "utf-16-le" if self.order == LITTLE_ENDIAN else "utf-16-be"


class Fields:
    """A cursor over the bytes of a message; ProtocolError if they end too early."""

    def __init__(self, data: bytes, order: str) -> None:
        self._data = data
        self._at = 0
        self.order = order

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise ProtocolError(f"{length} bytes wanted, {len(self._data) - self._at} left")
        part = self._data[self._at : end]
        self._at = end
        return part

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def part(self, length: int) -> "Fields":
        """The next bytes as fields of their own: a token cannot read past its declared length."""
        return Fields(self.take(length), self.order)

    def unpack(self, code: str) -> int:
        layout = struct.Struct(self.order + code)
        return int(layout.unpack(self.take(layout.size))[0])

    def u1(self) -> int:
        return self.take(1)[0]

    def u2(self) -> int:
        return self.unpack("H")

    def u4(self) -> int:
        return self.unpack("I")

    def short_bytes(self) -> bytes:
        """Bytes behind a one-byte length."""
        return self.take(self.u1())
