"""Leaves databases that refuse to be opened out of selects over all databases, so that each costs only itself.

The state of a database says most of it beforehand (catalogue, database_space), but not all: it may change meanwhile, a
local temporary database of Cluster Edition opens on its own instance alone (969), and a login may be no user (916).
"""

import logging
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from ase_exporter.ase.database_error import DatabaseError, known_of_message
from ase_exporter.backoff import Backoff
from ase_exporter.catalogue import PlannedCollector
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.untrusted.encoders import is_writable

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_NAME = re.compile("'([^']+)'")
# Of one reading: each takes another select.
MAX_NEW = 3
# Seconds until a database is tried again; doubled with each further time.
FIRST_WAIT, MAX_WAIT = 300.0, 3600.0


class RefusedDatabases:
    """The databases of one target that refused lately."""

    def __init__(self, target: str, clock: Clock = SYSTEM_CLOCK) -> None:
        self._target = target
        self._clock = clock
        self._refused: Backoff[str, DatabaseError] = Backoff(FIRST_WAIT, MAX_WAIT)

    @property
    def reasons(self) -> dict[str, DatabaseError]:
        """Why each refused, by database."""
        return {name: each.reason for name, each in self._refused.failures.items()}

    def waiting(self) -> list[str]:
        """The databases that are not to be tried yet."""
        now = self._clock.monotonic()
        return [name for name in self._refused.failures if self._refused.seconds_left(name, now)]

    def ask(self, collector: PlannedCollector, query: Callable[[str], Answer]) -> Answer:
        """The answer to its select, asked again without each database that refuses. Raises DatabaseError."""
        for _ in range(MAX_NEW):
            try:
                return self._asked(collector, query)
            except DatabaseError as error:
                if not self.may_explain(error, collector) or not self._note(error):
                    raise
        return self._asked(collector, query)

    def may_explain(self, error: DatabaseError, collector: PlannedCollector) -> bool:
        """Whether its select may have failed because a database refuses."""
        known = known_of_message(error.number, "names_database")
        return collector.lists_databases and error.usable and bool(known)

    def note_answer(self, collector: PlannedCollector, left_out: Sequence[str]) -> None:
        """Note that its select was answered: what it did not leave out refuses no more."""
        if collector.lists_databases:
            for name in self._refused.failures.keys() - left_out:
                self._refused.clear(name)

    def _asked(self, collector: PlannedCollector, query: Callable[[str], Answer]) -> Answer:
        left_out = self.waiting()
        answer = query(collector.statement_without(left_out))
        self.note_answer(collector, left_out)
        return answer

    def _note(self, error: DatabaseError) -> bool:
        """Leave out the database that an error names; whether there is a new one."""
        found = _NAME.search(str(error))
        now = self._clock.monotonic()
        if not found:
            return False
        name = found[1]
        if self._refused.seconds_left(name, now) or not is_writable(name):
            return False
        self._refused.note(name, error.with_traceback(None), now)
        if self._refused.times(name) == 1:
            log.warning("target %s: database %s is left out: %s", self._target, name, error)
        return True
