"""Capabilities: features that a client may use, and tokens it does not want, as two bit masks."""

import csv
from dataclasses import dataclass
from importlib.resources import files

_LINES = files(__package__).joinpath("capabilities.csv").read_text(encoding="utf-8").splitlines()
_KNOWN = {row["name"]: row for row in csv.DictReader(line for line in _LINES if not line.startswith("#"))}
_REQUESTS = 1
_RESPONSES = 2


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Two big-endian masks; the lowest bit of the last byte is capability 0."""

    requests: bytes = b""
    responses: bytes = b""

    def grant(self, name: str) -> bool:
        """Whether the client supports a feature of capabilities.csv and does not suppress it."""
        request, response = _KNOWN[name]["request"], _KNOWN[name]["response"]
        return _has(self.requests, int(request)) and not (response and _has(self.responses, int(response)))

    def served(self) -> "Capabilities":
        """The client's capabilities that this server supports; same length as the client's, as jTDS requires."""
        unserved = sum(1 << int(row["request"]) for row in _KNOWN.values() if row["served"] == "no")
        mask = int.from_bytes(self.requests, "big") & ~unserved
        return Capabilities(mask.to_bytes(len(self.requests), "big"), self.responses)

    def encode(self) -> bytes:
        masks = ((_REQUESTS, self.requests), (_RESPONSES, self.responses))
        return b"".join(bytes((kind, len(mask))) + mask for kind, mask in masks)

    @classmethod
    def decode(cls, body: bytes) -> "Capabilities":
        """Read the body of a CAPABILITY token; missing bytes count as not set."""
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
