"""Queries ASE for its configured memory (master..syscurconfigs)."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.ase.login import Login
from ase_exporter.config import Auth, Target
from ase_exporter.errors import UserError

_OPTIONS = ("total logical memory", "max memory", "allocate max shared memory")
_SQL = (
    "select c.name, u.value from master..sysconfigures c, master..syscurconfigs u "
    f"where c.config = u.config and c.name in ({', '.join(repr(option) for option in _OPTIONS)})"
)


class ServerMemory(NamedTuple):
    """What ASE allocates at start, in 2 KiB pages, the option that says so, and the server's name (@@servername)."""

    pages: int
    source: str
    server: str


def query_memory(target: Target, auth: Auth, timeout: float) -> ServerMemory:
    """Log in to the target and query its memory. Raises UserError on failure or after timeout (seconds)."""
    # A thread, because the driver would delay Ctrl-C on the main thread.
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(_read, target, auth, time.monotonic() + timeout).result()
        except DatabaseError as error:
            raise UserError(f"target {target.name}: {error}") from None


def _read(target: Target, auth: Auth, deadline: float) -> ServerMemory:
    connection = Login(Endpoint.of(target), auth, Connection.open).open(deadline)
    try:
        values = {str(name).strip(): value for name, value in connection.query(_SQL, deadline)}
        ((server,),) = connection.query("select @@servername", deadline)
    finally:
        connection.close()
    numbers = {option: value for option in _OPTIONS if isinstance(value := values.get(option), int)}
    if missing := [option for option in _OPTIONS if option not in numbers]:
        raise UserError(
            f"target {target.name}: no run value of {', '.join(missing)} in master..syscurconfigs"
        )
    total, maximum, allocate = numbers.values()
    pages, source = (maximum, "max memory") if allocate == 1 else (total, "total logical memory")
    source += f" (allocate max shared memory is {int(allocate == 1)})"
    return ServerMemory(pages, source, str(server or "").strip())
