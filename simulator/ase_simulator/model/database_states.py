"""States of databases, as bits of sysdatabases (Reference Manual: Tables, sysdatabases)."""

from collections.abc import Mapping
from typing import Literal, get_args

DatabaseState = Literal[
    "loading", "recovering", "suspect", "dbo use only", "single user", "read only",
    "offline", "not recovered", "upgrading", "standby",
    "shutting down", "shut down", "being dropped", "archive", "quiesced",
]  # fmt: skip
_STATUS = (32, 64, 256, 2048, 4096, 1024)
_STATUS2 = (16, 32, 512, 1024)
_STATUS3 = (8, 4096, 8192, 1 << 22, 128)
DATABASE_STATES: Mapping[str, tuple[int, int, int]] = dict(
    zip(
        get_args(DatabaseState),
        [
            *((bit, 0, 0) for bit in _STATUS),
            *((0, bit, 0) for bit in _STATUS2),
            *((0, 0, bit) for bit in _STATUS3),
        ],
        strict=True,
    )
)
"""The bits of status, status2 and status3 of each state."""
