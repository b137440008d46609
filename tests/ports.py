"""Free ports for programs whose port must be known before they start, because other programs connect to it.

A program that can listen on port 0 and report its port needs none of this, and no other process can take its port.
"""

import os
import random
import re
import socket

HOST = "127.0.0.1"
# Below the ephemeral ports, so that no outgoing connection takes a port before its server does.
FIRST, LAST = 20000, 32000


def free_block(count: int) -> int:
    """The first of `count` consecutive unused ports, from the range of this pytest-xdist worker."""
    numbered = re.fullmatch(r"gw(\d+)", os.environ.get("PYTEST_XDIST_WORKER", "gw0"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = (LAST - FIRST) // workers
    first = FIRST + share * int(numbered[1] if numbered else 0)
    while True:
        base = random.randrange(first, first + share - count)
        if all(_is_free(port) for port in range(base, base + count)):
            return base


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
