"""Answers statements from a capture, as the server that was recorded would."""

import re
from collections.abc import Iterable

from ase_exporter.ase.connection import DatabaseError, Row
from ase_exporter.capture.file import Execution

NOT_RECORDED = "not in the capture"
# As the simulator's replay has it; a server has no message of that number.
_NUMBER = 30001
# How statements begin that set up a session and return no rows, also those of another version.
_SETUP = ("set ", "if @@trancount > 0 rollback transaction")

_SELECT = re.compile(r"select (?P<items>[^()]*(?:\([^()]*\)[^()]*)*) from (?P<rest>master\.\.mon.*)")


def select_items(text: str) -> list[str]:
    """The items of a select list; parentheses hold no commas but those of convert()."""
    return re.split(r", (?![^()]*\))", text)


class Playback:
    """Each statement is answered as it was at first."""

    def __init__(self, statements: Iterable[Execution] = ()) -> None:
        self._by_sql: dict[str, Execution] = {}
        for each in statements:
            self._by_sql.setdefault(each.sql, each)

    def add(self, statements: Iterable[Execution]) -> None:
        """Answer these statements as they were in a later scrape."""
        self._by_sql.update((each.sql, each) for each in statements)

    def query(self, sql: str, deadline: float = 0.0) -> list[Row]:
        """The recorded rows. Raises the recorded error, and one with the text NOT_RECORDED for other statements."""
        if sql.startswith(_SETUP):
            return []
        statement = self._by_sql.get(sql)
        if statement is None and (projected := self._project(sql)) is not None:
            return projected
        if statement is None:
            raise DatabaseError("query_failed", NOT_RECORDED, usable=True, number=_NUMBER)
        if error := statement.error:
            # A connection that was lost can be used again here: the other statements have their answers.
            raise DatabaseError(error.kind, error.text, error.number, usable=True)
        return list(map(tuple, statement.rows))

    def _project(self, sql: str) -> list[Row] | None:
        """The rows of a select of fewer columns than recorded: another version reads fewer of a table."""
        select = _SELECT.fullmatch(sql)
        if select is None or " group by " in sql:
            return None
        wanted = select_items(select["items"])
        for text, statement in self._by_sql.items():
            other = _SELECT.fullmatch(text) if statement.error is None else None
            if other is not None and other["rest"] == select["rest"]:
                recorded = select_items(other["items"])
                if set(wanted) <= set(recorded):
                    chosen = [recorded.index(item) for item in wanted]
                    return [tuple(row[index] for index in chosen) for row in statement.rows]
        return None
