"""Capabilities: what a client can ask for and what it can take, as two sets of bits."""

from dataclasses import dataclass
from enum import IntEnum


class Request(IntEnum):
    """Request capabilities that change what this server sends or accepts."""

    BULK = 5
    LONG_CHAR = 28
    LONG_BINARY = 29
    INT8 = 51
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


class Refusal(IntEnum):
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
    Request.BULK,
    Request.XML,
    Request.DYNAMIC_BATCH,
    Request.LANGUAGE_BATCH,
    Request.RPC_BATCH,
}

_REQUESTS = 1
_REFUSALS = 2


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Two masks, big-endian, in whose last byte the lowest bit stands for capability 0."""

    requests: bytes = b""
    refusals: bytes = b""

    def grant(self, request: Request, refusal: Refusal | None = None) -> bool:
        """Whether the client understands a feature and did not ask to be spared it."""
        return _has(self.requests, request) and not (refusal and _has(self.refusals, refusal))

    def served(self) -> "Capabilities":
        """The client's wishes less what this server does not do; as long as the client's, or jTDS objects."""
        unserved = sum(1 << request for request in NOT_SERVED)
        mask = int.from_bytes(self.requests, "big") & ~unserved
        return Capabilities(mask.to_bytes(len(self.requests), "big"), self.refusals)

    def encode(self) -> bytes:
        """The body of a CAPABILITY token."""
        masks = ((_REQUESTS, self.requests), (_REFUSALS, self.refusals))
        return b"".join(bytes((kind, len(mask))) + mask for kind, mask in masks)

    @classmethod
    def decode(cls, body: bytes) -> "Capabilities":
        """From the body of a CAPABILITY token; what is cut off counts as not set."""
        masks = {_REQUESTS: b"", _REFUSALS: b""}
        while len(body) >= 2:
            kind, length = body[0], body[1]
            masks[kind] = body[2 : 2 + length]
            body = body[2 + length :]
        return cls(masks[_REQUESTS], masks[_REFUSALS])


NONE = Capabilities()


def _has(mask: bytes, bit: int) -> bool:
    byte = len(mask) - 1 - bit // 8
    return byte >= 0 and bool(mask[byte] >> bit % 8 & 1)
