"""Capabilities: features that a client may use, and tokens it does not want, as two bit masks.

FreeTDS, the only client that is simulated for, takes every format and type that this server sends.
"""

_REQUESTS = 1
# Nullable bits, bulk copies of unlocked pages, XML, and batches of parameters for dynamic SQL, language and procedures.
UNSERVED = sum(1 << bit for bit in (50, 53, 85, 98, 99, 100))


def served(body: bytes) -> bytes:
    """The body of a client's CAPABILITY token without what this server does not support."""
    answer = b""
    while len(body) >= 2:
        kind, length = body[0], body[1]
        mask, body = body[2 : 2 + length], body[2 + length :]
        if kind == _REQUESTS:
            mask = (int.from_bytes(mask, "big") & ~UNSERVED).to_bytes(len(mask), "big")
        answer += bytes((kind, len(mask))) + mask
    return answer
