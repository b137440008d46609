"""Why a collector is not available."""

from typing import Literal, cast

from ase_exporter.ase.database_error import known_of_message

Reason = Literal[
    "",
    "no_role",
    "switched_off",
    "table_missing",
    "version",
    "columns_missing",
    "database_loading",
    "server_shutdown",
    "error",
]


def unavailable_reason(number: int | None) -> Reason:
    """Why a collector is not available, by the message of its query; '' if the message has another cause."""
    return cast(Reason, known_of_message(number, "reason"))
