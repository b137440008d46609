"""Result of the login negotiation: byte order, character set."""

from dataclasses import dataclass

from ase_simulator.tds.fields import Layout


@dataclass(frozen=True)
class Dialect:
    """Encoding rules for one client; codec: Python's name of its character set."""

    layout: Layout
    codec: str = "utf-8"

    @property
    def order(self) -> str:
        return self.layout.order

    def encode(self, text: str) -> bytes:
        return text.encode(self.codec, "replace")

    def decode(self, data: bytes) -> str:
        return data.decode(self.codec, "replace")

    def cut(self, text: str, length: int) -> bytes:
        """Text encoded, of at most `length` bytes and no broken character."""
        data = self.encode(text)
        if len(data) <= length:
            return data
        return data[:length].decode(self.codec, "ignore").encode(self.codec)
