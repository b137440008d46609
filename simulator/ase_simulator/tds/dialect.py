"""Result of the login negotiation: the character set."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """Encoding rules for one client; codec: Python's name of its character set."""

    codec: str = "utf-8"

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
