"""States of databases, as bits of sysdatabases (Reference Manual: Tables, sysdatabases)."""

from collections.abc import Mapping
from typing import Literal, get_args

DatabaseState = Literal[
    "loading",
    "recovering",
    "suspect",
    "dbo use only",
    "single user",
    "offline",
    "not recovered",
    "upgrading",
    "shutting down",
    "shut down",
    "being dropped",
    "archive",
    "read only",
    "standby",
    "quiesced",
]
_BITS = (
    (32, 0, 0),
    (64, 0, 0),
    (256, 0, 0),
    (2048, 0, 0),
    (4096, 0, 0),
    (0, 16, 0),
    (0, 32, 0),
    (0, 512, 0),
    (0, 0, 8),
    (0, 0, 4096),
    (0, 0, 8192),
    (0, 0, 1 << 22),
    (1024, 0, 0),
    (0, 1024, 0),
    (0, 0, 128),
)
DATABASE_STATES: Mapping[str, tuple[int, int, int]] = dict(zip(get_args(DatabaseState), _BITS, strict=True))
"""By state: bits of status, status2 and status3."""
