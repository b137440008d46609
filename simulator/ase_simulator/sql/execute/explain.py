"""What SET SHOWPLAN and SET STATISTICS say of a query, in a short form: every table is scanned once."""

from collections.abc import Iterator, Sequence

from ase_simulator.results import Message
from ase_simulator.sql.errors import message
from ase_simulator.sql.state.settings import Settings


def plan(settings: Settings, tables: Sequence[str], line: int) -> Iterator[Message]:
    """Before the rows, if showplan is on."""
    if settings.others.get("showplan") != "on":
        return
    yield message(6289, 1, line)
    yield message(6201, 1)
    yield message(6203, "SELECT")
    for table in tables:
        yield message(6215)
        yield message(6217, table)
        yield message(6223)


def statistics(settings: Settings, tables: Sequence[str], rows: int) -> Iterator[Message]:
    """After the rows, if statistics are on; a page is read for each row, from cache and in no time."""
    if settings.others.get("statistics io") == "on":
        reads = max(1, rows)
        for table in tables:
            yield message(3615, table, 1, reads, 0, reads, 0, 0, 0, 0)
        yield message(3614, 0)
        yield message(3631, 2 * reads * len(tables))
    if settings.others.get("statistics time") == "on":
        yield message(3612, 0)
