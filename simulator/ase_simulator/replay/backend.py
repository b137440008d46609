"""The backend of a replay: ase_simulator.contracts.Backend over the statements of a capture."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import count

from ase_simulator.contracts import LoginRequest
from ase_simulator.replay.file import Recorded
from ase_simulator.results import Column, Disconnect, Message, Result, Rows, Type
from ase_simulator.sql.logins import Login, Logins, standard_logins

NOT_RECORDED = 30001

_LOGIN_FAILED = Message(4002, 14, 1, "Login failed.\n")
# What FreeTDS sends after the login, and how the exporter tests a connection.
_SPID = re.compile(r"(set textsize \d+ )?(use \S+ )?select @@spid ?", re.IGNORECASE)
_NUMBER = re.compile(r"select (\d{1,10})")
_MAX_INT = 0x7FFF_FFFF
_WITHOUT_ANSWER = re.compile(
    r"(set|use|sp_datatype_info|if @@trancount > 0 rollback transaction)\b", re.IGNORECASE
)
# The number of seconds depends on when the statement is sent.
_SECONDS_AGO = re.compile(r"dateadd\(ss, -\d+,")
_SELECT = re.compile(r"select (?P<items>[^()]*(?:\([^()]*\)[^()]*)*) from (?P<rest>master\.\.mon.*)")


class Answers:
    """The recorded statements by text and scrape."""

    def __init__(self, statements: Iterable[Recorded]) -> None:
        self._by_text: defaultdict[str, dict[int, list[Recorded]]] = defaultdict(dict)
        self.last_scrape = 1
        for each in statements:
            self.last_scrape = max(self.last_scrape, each.scrape)
            self._by_text[_key(each.sql)].setdefault(each.scrape, []).append(each)
        self._by_rest: defaultdict[str, list[str]] = defaultdict(list)
        for text in self._by_text:
            if (select := _SELECT.fullmatch(text)) and " group by " not in text:
                self._by_rest[select["rest"]].append(text)

    def find(self, sql: str) -> "tuple[dict[int, list[Recorded]], list[int] | None] | None":
        """The executions of a statement by scrape, and the columns to select from them (None: all)."""
        key = _key(sql)
        if key in self._by_text:
            return self._by_text[key], None
        # Another version of the exporter may read fewer columns of a table.
        if select := _SELECT.fullmatch(key):
            wanted = _items(select["items"])
            for text in self._by_rest[select["rest"]]:
                recorded = _items(_SELECT.fullmatch(text)["items"])  # type: ignore[index]
                if all(item in recorded for item in wanted):
                    return self._by_text[text], [recorded.index(item) for item in wanted]
        return None


class ReplaySession:
    """One connection. It begins at the first scrape, and goes on to the next when a statement comes again.

    A statement that the present scrape lacks is answered from the last scrape before it that has it, else from the
    first one. After the last scrape, its answers are repeated.
    """

    database = "master"

    def __init__(self, answers: Answers, spid: int) -> None:
        self.spid = spid
        self._answers = answers
        self._scrape = 1
        self._served: Counter[str] = Counter()

    async def execute(self, sql: str) -> AsyncIterator[Result]:
        """The recorded results. A batch of several statements has one on each line, and ends at an error."""
        batch = [sql] if self._answers.find(sql) else sql.split("\n")
        for number, statement in enumerate(map(str.strip, batch)):
            recorded, columns = self._find(statement)
            if recorded.failed and len(batch) > 1:
                # Clients ask for it again, and for the one before: its rows are complete when the next result begins.
                self._served.subtract(map(_key, batch[max(0, number - 1) : number + 1]))
            for result in recorded.results:
                yield _project(result, columns)
            if recorded.ended == "deadline":
                await asyncio.Event().wait()
            elif recorded.ended:
                yield Disconnect()
            if recorded.failed:
                break

    def close(self) -> None:
        """Nothing to release."""

    def _find(self, sql: str) -> tuple[Recorded, list[int] | None]:
        found = self._answers.find(sql)
        if found is None:
            return Recorded(0, sql, self._unrecorded(sql)), None
        return self._next(_key(sql), found[0]), found[1]

    def _next(self, key: str, executions: dict[int, list[Recorded]]) -> Recorded:
        """The next execution of a statement; goes on to the next scrape if the present one has no more."""
        available = len(executions.get(self._scrape, ())) or 1
        if self._served[key] >= available and self._scrape < self._answers.last_scrape:
            self._scrape += 1
            self._served.clear()
        self._served[key] += 1
        scrape = max((each for each in executions if each <= self._scrape), default=min(executions))
        of_scrape = executions[scrape]
        return of_scrape[min(self._served[key], len(of_scrape)) - 1]

    def _unrecorded(self, sql: str) -> Sequence[Result]:
        if _SPID.fullmatch(sql):
            return (Rows([Column("", Type("smallint"), False)], [(self.spid,)]),)
        if not sql or _WITHOUT_ANSWER.match(sql):
            return ()
        if (number := _NUMBER.fullmatch(sql)) and int(number[1]) <= _MAX_INT:
            return (Rows([Column("", Type("int"), False)], [(int(number[1]),)]),)
        shown = sql if len(sql) <= 200 else sql[:200] + "..."
        return (Message(NOT_RECORDED, 16, 1, f"This statement is not in the capture: {shown}\n"),)


class ReplayBackend:
    """A server that gives the answers of a capture. logins: as those of SqlBackend."""

    charset = "utf8"
    name = "REPLAY"
    version = "Adaptive Server Enterprise/16.0"

    def __init__(self, statements: Iterable[Recorded], logins: Iterable[Login] | None = None) -> None:
        self._answers = Answers(statements)
        self._logins = Logins(standard_logins() if logins is None else logins, {})
        self._spids = count(11)

    def login(self, request: LoginRequest) -> ReplaySession | Message:
        """A session at the first scrape, or message 4002."""
        login = self._logins.find(request.user)
        if login is None or login.password != request.password:
            return _LOGIN_FAILED
        return ReplaySession(self._answers, next(self._spids))


def _project(result: Result, columns: Sequence[int] | None) -> Result:
    if columns is None or not isinstance(result, Rows):
        return result
    chosen = [result.columns[index] for index in columns]
    return Rows(chosen, [[row[index] for index in columns] for row in result.rows])


def _key(sql: str) -> str:
    return _SECONDS_AGO.sub("dateadd(ss, -?,", " ".join(sql.split()))


def _items(text: str) -> list[str]:
    """The items of a select list; parentheses hold no commas but those of convert()."""
    return re.split(r", (?![^()]*\))", text)
