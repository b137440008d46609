"""Maps server message numbers to the reason why a collector is not available.

Source: sysmessages texts; 12036 and 12052 (severity 17) may come with rows and do not end the session.
"""

from typing import Literal

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

REASON_BY_MESSAGE: dict[int, Reason] = {
    10353: "no_role",  # you must have any of the following role(s)
    10331: "no_role",  # the same under granular permissions
    10330: "no_role",  # permission denied on object
    229: "no_role",
    12036: "switched_off",  # collection requires that the ... configuration option(s) be enabled
    12052: "switched_off",
    10898: "switched_off",  # statement cache size is 0
    208: "table_missing",  # object not found
    2812: "table_missing",  # stored procedure not found
    207: "columns_missing",  # invalid column name
    937: "database_loading",  # LOAD DATABASE in progress
    938: "database_loading",  # LOAD TRANSACTION in progress
    921: "database_loading",  # not recovered yet
    950: "database_loading",  # offline
    6002: "server_shutdown",
}


def unavailable_reason(number: int | None) -> Reason:
    """Why a collector is not available, by the message of its query; '' if the message has another cause."""
    return REASON_BY_MESSAGE.get(number or 0, "")
