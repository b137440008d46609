"""Reading and writing the fields of tokens: clients of the other byte order are not simulated."""

import struct

from ase_simulator.tds.packets import ProtocolError

u2 = struct.Struct("<H").pack
u4 = struct.Struct("<I").pack
i4 = struct.Struct("<i").pack


class Fields:
    """A cursor over the bytes of a message; ProtocolError if they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

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
        return Fields(self.take(length))

    def u1(self) -> int:
        return self.take(1)[0]

    def u2(self) -> int:
        return int.from_bytes(self.take(2), "little")

    def u4(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def short_bytes(self) -> bytes:
        """Bytes behind a one-byte length."""
        return self.take(self.u1())
