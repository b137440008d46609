"""A backend that repeats its first answer to each query from encoded bytes, for benchmarks of clients."""

import re
from collections.abc import AsyncIterator, Sequence

from ase_simulator.contracts import Backend, Description, LoginRequest, Parameter, Session
from ase_simulator.results import Affected, Message, PreEncodedRows, Result, Rows, TransactionState

MAX_ANSWERS = 1000

# Only queries without variables and temporary tables, whose answers differ between sessions.
_FREEZABLE = re.compile(r"\s*select\b[^@#]*\Z", re.IGNORECASE)

# A batch of selects, one per line, is frozen select by select.
_NEXT = re.compile(r"\n(?=select )", re.IGNORECASE)

Key = tuple[str, str, str]


class FrozenSession:
    """A session of the wrapped backend. All sessions share the answers by user, database and text."""

    def __init__(self, session: Session, user: str, answers: dict[Key, list[Result]]) -> None:
        self._session = session
        self._user = user
        self._answers = answers

    @property
    def spid(self) -> int:
        return self._session.spid

    @property
    def database(self) -> str:
        return self._session.database

    async def execute(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        """Return each select's stored answer; the first time, get and store it."""
        selects = [sql] if parameters or "union" in sql.lower() else _NEXT.split(sql)
        for select in selects:
            async for result in self._execute(select, parameters):
                yield result

    async def _execute(self, sql: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        key = (self._user, self._session.database, sql)
        if key in self._answers:
            for result in self._answers[key]:
                yield result
            return
        results: list[Result] = []
        async for result in self._session.execute(sql, parameters):
            if isinstance(result, Rows):
                result = PreEncodedRows(result.columns, list(result.rows), result.counted)
            results.append(result)
            yield result
        frozen = all(isinstance(result, Rows | Affected | Message) for result in results)
        if frozen and not parameters and _FREEZABLE.match(sql) and len(self._answers) < MAX_ANSWERS:
            self._answers[key] = results

    @property
    def transaction(self) -> TransactionState:
        return self._session.transaction

    def call(self, procedure: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        """Procedures are never frozen."""
        return self._session.call(procedure, parameters)

    def describe(self, sql: str) -> Description | Message:
        return self._session.describe(sql)

    def close(self) -> None:
        self._session.close()


class FrozenBackend:
    """Wraps a backend and freezes its answers."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._answers: dict[Key, list[Result]] = {}

    @property
    def name(self) -> str:
        return self._backend.name

    @property
    def version(self) -> str:
        return self._backend.version

    @property
    def charset(self) -> str:
        return self._backend.charset

    def login(self, request: LoginRequest) -> FrozenSession | Message:
        """Log in to the wrapped backend."""
        session = self._backend.login(request)
        return (
            session if isinstance(session, Message) else FrozenSession(session, request.user, self._answers)
        )
