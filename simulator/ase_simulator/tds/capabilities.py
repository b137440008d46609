"""Capabilities: features that a client may use, and tokens it does not want, as two bit masks."""

from dataclasses import dataclass
from enum import IntEnum


class RequestCapability(IntEnum):
    """Request capabilities that change what this server sends or accepts."""

    LONG_CHAR = 28
    LONG_BINARY = 29
    INT8 = 51
    BULK_OF_UNLOCKED_PAGES = 53
    WIDE_TABLES = 59
    UINT2 = 61
    UINT4 = 62
    UINT8 = 63
    UINTN = 64
    DATE = 71
    TIME = 72
    SERVER_PACKET_SIZE = 79
    UNITEXT = 80
    XML = 85
    BIG_DATETIME = 93
    BIG_TIME = 94
    DYNAMIC_BATCH = 98
    LANGUAGE_BATCH = 99
    RPC_BATCH = 100
    COMMAND_ENCRYPTION = 106


class ResponseCapability(IntEnum):
    """Response capabilities: what the client asks the server not to send."""

    LONG_CHAR = 22
    LONG_BINARY = 23
    INT8 = 35
    UINT2 = 41
    UINT4 = 42
    UINT8 = 43
    UINTN = 44
    WIDE_TABLES = 45
    DATE = 51
    TIME = 52


NOT_SERVED = {
    RequestCapability.BULK_OF_UNLOCKED_PAGES,
    RequestCapability.XML,
    RequestCapability.DYNAMIC_BATCH,
    RequestCapability.LANGUAGE_BATCH,
    RequestCapability.RPC_BATCH,
}

_REQUESTS = 1
_RESPONSES = 2


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Two big-endian masks; the lowest bit of the last byte is capability 0."""

    requests: bytes = b""
    responses: bytes = b""

    def grant(self, request: RequestCapability, response: ResponseCapability | None = None) -> bool:
        """Whether the client supports a feature and does not suppress it."""
        return _has(self.requests, request) and not (response and _has(self.responses, response))

    def served(self) -> "Capabilities":
        """The client's capabilities that this server supports; same length as the client's, as jTDS requires."""
        unserved = sum(1 << request for request in NOT_SERVED)
        mask = int.from_bytes(self.requests, "big") & ~unserved
        return Capabilities(mask.to_bytes(len(self.requests), "big"), self.responses)

    def encode(self) -> bytes:
        """The body of a CAPABILITY token."""
        masks = ((_REQUESTS, self.requests), (_RESPONSES, self.responses))
        return b"".join(bytes((kind, len(mask))) + mask for kind, mask in masks)

    @classmethod
    def decode(cls, body: bytes) -> "Capabilities":
        """From the body of a CAPABILITY token; missing bytes count as not set."""
        masks = {_REQUESTS: b"", _RESPONSES: b""}
        while len(body) >= 2:
            kind, length = body[0], body[1]
            masks[kind] = body[2 : 2 + length]
            body = body[2 + length :]
        return cls(masks[_REQUESTS], masks[_RESPONSES])


NONE = Capabilities()


def _has(mask: bytes, bit: int) -> bool:
    byte = len(mask) - 1 - bit // 8
    return byte >= 0 and bool(mask[byte] >> bit % 8 & 1)
