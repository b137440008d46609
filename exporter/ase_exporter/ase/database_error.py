"""DatabaseError: what can go wrong with a server, classified from the driver's error texts."""

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from ase_exporter.assets import shipped_rows
from ase_exporter.errors import AseExporterError
from ase_exporter.untrusted.entry import one_line

if TYPE_CHECKING:
    from ase_exporter.ase.login import UnansweredLogin

Kind = Literal[
    "driver_missing",
    "unknown_host",
    "refused",
    "unreachable",
    "login_failed",
    "login_locked",
    "login_suspended",
    "encryption_required",
    "no_connections",
    "deadline",
    "lost",
    "loading",
    "shutting_down",
    "query_failed",
    "too_many_rows",
    "out_of_step",
    "internal",
]

# Why something is `internal`.
NO_THREAD = (
    "no thread can be started: the limit of tasks is reached (TasksMax of the unit, or the pids cgroup)"
)
NO_FILE = "no file can be opened: the limit of open files is reached (LimitNOFILE of the unit, or ulimit -n)"

DRIVER = "FreeTDS"
"""The section of odbcinst.ini that names the driver."""

_SERVER_MESSAGE = re.compile(
    r"\[FreeTDS\]\[SQL Server\](?P<text>.*) \((?P<number>\d+)\) \(SQL\w+\)$", re.DOTALL
)
# FreeTDS's own numbers: broken streams, dead sockets.
_FREETDS_MESSAGES = range(20000, 21000)


@cache
def _messages() -> dict[int, dict[str, str]]:
    return {int(row["number"]): row for row in shipped_rows(Path(__file__).with_name("messages.csv"))}


def known_of_message(number: int | None, column: Literal["kind", "reason", "names_database"]) -> str:
    """What messages.csv says of a message: its kind, why a collector is unavailable, or `yes` if the first name in
    quotes is that of a database that refuses to be opened; '' if nothing."""
    return _messages().get(number or 0, {}).get(column, "")


class DatabaseError(AseExporterError):
    """A failure between the exporter and ASE.

    number: the server's message number, if there is one. usable: the connection can still be used.
    Of a login: uncertain: the password was sent, and may have been refused. dropped: it was acknowledged, and then the
    server closed the connection or answered nothing sensible. attempts: how often it was sent. unanswered: its
    connection, if the answer may still come.
    """

    def __init__(self, kind: Kind, text: str, number: int | None = None, *, usable: bool = False) -> None:
        super().__init__(text if number is None else f"Msg {number}: {text}")
        self.kind = kind
        self.number = number
        self.usable = usable
        self.uncertain = False
        self.dropped = False
        self.attempts = 1
        self.unanswered: UnansweredLogin | None = None

    @property
    def may_be_refused(self) -> bool:
        """Whether the server has refused a password, or may have."""
        return self.uncertain or self.kind in ("login_failed", "login_locked")


def login_error(driver_text: str, address: str, *, timed_out: bool) -> DatabaseError:
    """The error of a failed login to an address (HOST:PORT)."""
    number, text = _server_message(driver_text)
    if problem := _driver_problem(text):
        return DatabaseError("driver_missing", problem)
    kind = cast(Kind, known_of_message(number, "kind") or "unreachable")
    if timed_out and kind not in ("login_failed", "login_locked"):
        return DatabaseError("deadline", f"{address} did not answer the login in time")
    error = _login_error(kind, number, text, address)
    error.uncertain = kind in ("unreachable", "deadline")
    return error


def _login_error(kind: Kind, number: int | None, text: str, address: str) -> DatabaseError:
    if "Unable to connect to data source" in text:
        return DatabaseError(
            kind,
            f"{address}: something listens there, but it does not speak TDS: is this the port of ASE?"
            " One that is marked ssl in interfaces or sql.ini expects TLS: use a port without",
        )
    if kind == "refused":
        return DatabaseError(kind, f"{address} refused the connection: expected an ASE that listens there")
    if kind == "encryption_required":
        text += " Set encrypt_password: true for this target."
    if kind == "login_failed":
        reason = f"{text.rstrip('.')}: expected a login and a password as isql takes them"
        return DatabaseError(kind, f"{address} refused the login: {reason}", number)
    return DatabaseError(kind, f"{address}: {text}", number or None)


def _driver_problem(text: str) -> str | None:
    """Why the driver could not be loaded or used; None if it could."""
    if text.startswith("Memory allocation failure"):
        # FreeTDS says so before it connects.
        return "the driver does not know the charset of this target: expected one such as UTF-8, ISO-8859-1 or CP850"
    drivers = Path(os.environ.get("ODBCSYSINI", "/etc")) / "odbcinst.ini"
    library = re.search(r"Can't open lib '([^']*)'", text)
    # Without a section of that name unixODBC takes the name itself for a library.
    if "Data source name not found" in text or (library and library[1] == DRIVER):
        return f"the ODBC driver {DRIVER} is not installed (no [{DRIVER}] in {drivers}): install tdsodbc or freetds"
    if library:
        return (
            f"the ODBC driver {DRIVER} cannot be loaded: [{DRIVER}] in {drivers} names {library[1]},"
            " which is missing or of another architecture"
        )
    return None


def query_error(driver_text: str) -> DatabaseError:
    """The error of a failed statement."""
    number, text = _server_message(driver_text)
    if not number:
        return DatabaseError("lost", text)
    unknown = "lost" if number in _FREETDS_MESSAGES else "query_failed"
    kind = cast(Kind, known_of_message(number, "kind") or unknown)
    return DatabaseError(kind, text, number, usable=kind in ("query_failed", "loading"))


def _server_message(driver_text: str) -> tuple[int | None, str]:
    """Message number and text. The SQLSTATE is ignored: FreeTDS does not set it consistently."""
    text = one_line(" ".join(driver_text.split()))
    match = _SERVER_MESSAGE.search(text)
    if match:
        return int(match["number"]), match["text"].strip()
    number = re.search(r"\((\d+)\) \(SQL\w+\)", text)
    return (int(number[1]) if number else None), re.sub(r"^(\[[^]]*\])+", "", text)
