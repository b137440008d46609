"""Free ports for programs that must be told where to listen, because others are told as well.

What can listen on port 0 and say where it does is better off so: nobody can take its port meanwhile.
"""

import os
import random
import re
import socket

HOST = "127.0.0.1"
# Below the ports that connections get by themselves, so that none of them takes one before its server does.
FIRST, LAST = 20000, 32000


def free_block(count: int) -> int:
    """The first of so many consecutive ports that nobody uses, out of this test process's own share."""
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
