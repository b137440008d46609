"""A server in memory, which counts logins and answers a scrape's selects itself: for very many histories."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.exporter.scraping.test_answers import Answer, FakeRow, answer

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.ase.cost import Cost
from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import facts

# By metric, value of its label, and instance.
Growth = Counter[tuple[str, str, str]]

_READ = load_yaml(Path(__file__).with_name("memory_tables.yaml").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, str]] = {table: each["columns"] for table, each in _READ.items()}
COUNTERS: dict[str, dict[str, str]] = {table: each["counters"] for table, each in _READ.items()}
NAMES: dict[str, str] = {table: each["name"] for table, each in _READ.items()}
OBJECTS = "monOpenObjectActivity"
# Values from which a counter of that type is about to wrap.
EDGES = {"int": (0, (1 << 31) - 9_000), "unsigned int": (0, (1 << 32) - 9_000), "bigint": (0, 1 << 40)}
Spoil = Callable[[list[Answer]], list[Answer]]


def _item(text: str) -> tuple[str, str]:
    name, _, expression = text.partition(" = ")
    return name, "sum" if expression.startswith("sum(") else name


@lru_cache
def _select(sql: str) -> tuple[str, list[tuple[str, str]]] | None:
    """The table of a select, and its items: name and column."""
    found = re.match(r"select (.+) from master\.\.(mon\w+)", sql)
    items = re.split(r", (?![^(]*\))", found[1]) if found else []
    return (found[2], list(map(_item, items))) if found else None


@dataclass(eq=False)
class Row:
    """cells: what does not count. counts: true values since its birth; shown: those when it was visible last."""

    cells: dict[str, Any]
    counts: dict[str, int]
    pace: dict[str, int]
    visible: bool = True
    shown: dict[str, int] = field(default_factory=dict)


@dataclass
class LoginAccount:
    """A login, which the servers of a site share. answer: how the next login is answered, '' as it should be.

    failures: of each password since the last success; max_failures: of one, that there ever were. What an operator sets
    after a refusal may be refused, too.
    """

    password: str = "first"
    failures: Counter[str] = field(default_factory=Counter)
    max_failures: int = 0
    accepted: set[str] = field(default_factory=set)
    answer: str = ""


class MemoryServer:
    """now: the true time. spoil: what becomes of the next batch. breaks_after: selects that a connection survives."""

    def __init__(
        self, dice: random.Random, now: Callable[[], float], version: str, account: LoginAccount, up: float
    ) -> None:
        self.account = account
        self.connections = 0
        self.spoil: Spoil = list
        self.breaks_after: int | None = None
        self.has_role = True
        self._dice, self._now = dice, now
        self._cluster = version.endswith("CE")
        self._version = f"Adaptive Server Enterprise/{version}/EBF 1 SMP/P/x86_64/Linux"
        self._node, self._ids = f"{dice.getrandbits(32):x}", 0
        self._clock_set = 0.0
        self._started = self._cleared = self._local(now() - up)
        self._rows: dict[str, list[Row]] = {table: [] for table in TABLES}
        self._instances = 0
        self.set_instances(1)

    def _fill(self, instance: int) -> None:
        """The rows of an instance: caches, spinlocks with two slots each, more objects than have series."""
        self._add("monState", instance)
        for name in ("default data cache", "tempdb_cache"):
            self._add("monDataCache", instance, name)
            for slot in (1, 2):
                self._add("monSpinlockActivity", instance, name, SpinlockSlotID=slot)
        for name in ("orders", "trades", "books", "prices"):
            self._add(OBJECTS, instance, name)

    def _add(self, table: str, instance: int, name: str = "", *, young: bool = False, **cells: Any) -> Row:
        self._ids += 1
        cells |= {"DBID": 5, "ObjectID": self._ids, "DBName": "db", "IndexID": 0, "CacheID": self._ids}
        cells |= {"InstanceID": instance, NAMES[table]: name}
        kinds = {column: TABLES[table][column] for column in COUNTERS[table]}
        start = {
            column: 0 if young else self._dice.choice(EDGES[kind]) + self._dice.randrange(8_000)
            for column, kind in kinds.items()
        }
        # A wrap is known as such while the pace is not known, too.
        pace = {
            column: self._dice.choice([1, 20, 10_000 if kind == "bigint" else 20])
            for column, kind in kinds.items()
        }
        row = Row(cells, start, pace)
        row.shown = row.counts
        self._rows[table].append(row)
        return row

    # What happens to it.

    def drop(self) -> None:
        """Close every connection."""
        self.connections += 1

    def restart(self) -> None:
        """Start again from nothing, with the clock that it had."""
        self.drop()
        self._started = self._local(self._now())
        self.clear()

    def clear(self) -> None:
        """What sp_sysmon does to every counter."""
        self._cleared = self._local(self._now())
        for row in itertools.chain(*self._rows.values()):
            row.counts = dict.fromkeys(row.counts, 0)
            row.shown = row.counts

    def shows_start(self, moved: float) -> None:
        """From now on its start appears to be another one."""
        self._started += timedelta(seconds=moved)

    def set_clock(self, seconds: float) -> None:
        """Set its clock; what it says of its start stays."""
        self._clock_set += seconds

    def flicker(self) -> None:
        """A row is not shown for a while."""
        self._dice.choice(
            [row for table in TABLES for row in self._rows[table] if NAMES[table]]
        ).visible = False

    def rename(self) -> None:
        """An object gets another name, and keeps its identity."""
        self._ids += 1
        row = self._dice.choice(self._rows[OBJECTS])
        row.cells["ObjectName"] = f"renamed {self._ids}"

    def recreate(self) -> None:
        """An object is dropped, and made again with the same name."""
        row = self._rows[OBJECTS].pop(self._dice.randrange(len(self._rows[OBJECTS])))
        self._add(OBJECTS, row.cells["InstanceID"], row.cells["ObjectName"], young=True)

    def set_instances(self, count: int) -> None:
        """Nodes leave, or join with counters of their own."""
        for table, rows in self._rows.items():
            self._rows[table] = [row for row in rows if row.cells["InstanceID"] <= count]
        for instance in range(self._instances + 1, count + 1):
            self._fill(instance)
        self._instances = count

    def advance(self, seconds: float) -> Growth:
        """Work; returns what it has shown of that, by metric and label value."""
        growth: Growth = Counter()
        worked = seconds * self._dice.uniform(0.5, 2.0)
        for table, rows in self._rows.items():
            metrics, name = COUNTERS[table].items(), NAMES[table]
            for row in rows:
                row.counts = {
                    column: value + int(row.pace[column] * worked) for column, value in row.counts.items()
                }
                row.visible = row.visible or self._dice.random() < 0.5
                if not row.visible:
                    continue
                of = row.cells[name]
                instance = str(row.cells["InstanceID"]) if self._cluster else ""
                for column, metric in metrics:
                    grown = row.counts[column] - row.shown[column]
                    growth[metric, of, instance] += grown
                    if table == OBJECTS:
                        growth[metric, "rest", instance] += grown
                row.shown = row.counts
        return growth

    # What it answers.

    def log_in(self, password: str) -> "MemoryConnection":
        """Raises DatabaseError, if the password is wrong or the answer is to be another one."""
        account = self.account
        wanted, account.answer = account.answer, ""
        if wanted == "unclear" and password in account.accepted:
            # A password that was accepted before is refused in a form that can be recognised.
            wanted = "refused" if password != account.password else wanted
        if password == account.password and not wanted:
            account.failures.clear()
            account.accepted.add(password)
            return MemoryConnection(self)
        if password != account.password or wanted == "refused":
            account.failures[password] += 1
            account.max_failures = max(account.max_failures, account.failures[password])
        refused = wanted in ("", "refused")
        error = DatabaseError("login_failed" if refused else "lost", "no", 4002 if refused else None)
        error.dropped, error.uncertain = wanted == "dropped", not refused
        raise error

    def _local(self, at: float) -> datetime:
        """A true time by its clock."""
        return datetime(2026, 3, 2) + timedelta(seconds=at + self._clock_set)

    def ask(self, sql: str) -> list[FakeRow]:
        """Raises DatabaseError."""
        select = _select(sql)
        if not select or select[0] not in TABLES:
            return [FakeRow(row) for row in self._of_facts(sql)]
        if not self.has_role:
            raise DatabaseError("query_failed", "no role", 10353, usable=True)
        table, items = select
        return self._answer(table, items)

    def _answer(self, table: str, items: list[tuple[str, str]]) -> list[FakeRow]:
        dates = {
            "StartDate": self._started,
            "CountersCleared": self._cleared,
            "ReadAt": self._local(self._now()),
        }
        summed: dict[tuple[Any, ...], list[int]] = {}
        description = [(name,) for name, _ in items]
        found = []
        for row in self._rows[table]:
            if not row.visible:
                continue
            cells = row.cells | dates | {column: self._shown(table, column, row) for column in row.counts}
            if any(column == "sum" for _, column in items):
                key = tuple([cells[column] for name, column in items if column != "sum"])
                values = [cells[name] for name, column in items if column == "sum"]
                before = summed.get(key, [0] * len(values))
                summed[key] = [old + new for old, new in zip(before, values, strict=True)]
            else:
                found.append([cells[column] for _, column in items])
        for key, values in summed.items():
            of_key, of_values = iter(key), iter(values)
            found.append([next(of_values if column == "sum" else of_key) for _, column in items])
        return answer(found, description)

    @staticmethod
    def _shown(table: str, column: str, row: Row) -> int:
        value = row.counts[column]
        if TABLES[table][column] == "bigint":
            return value
        value %= 1 << 32
        signed = TABLES[table][column] == "int" and value >= 1 << 31
        return value - (1 << 32) if signed else value

    def _of_facts(self, sql: str) -> list[tuple[Any, ...]]:
        now = self._local(self._now())
        if sql.startswith(facts.COLUMNS):
            listed = {
                table: columns | ({"InstanceID": "tinyint"} if self._cluster else {})
                for table, columns in TABLES.items()
            }
            return [
                (table, column, kind) for table, columns in listed.items() for column, kind in columns.items()
            ]
        known: dict[str, list[tuple[Any, ...]]] = {
            facts.SERVER: [(self._version, "ONE", 16384)],
            facts.UTC_CLOCK: [(now, now)],
            facts.NODE: [(self._node,)],
            "select proc_role('mon_role')": [(int(self.has_role),)],
        }
        if found := re.fullmatch(r"select (\d+)", sql):
            return [(int(found[1]),)]
        return known.get(sql, [])


class MemoryConnection:
    """What a scrape needs of `Connection`."""

    def __init__(self, server: MemoryServer) -> None:
        self.cost = Cost()
        self._server = server
        self._number = server.connections

    def query(self, sql: str, _: float) -> list[FakeRow]:
        server = self._server
        if server.breaks_after is not None:
            server.breaks_after -= 1
            if server.breaks_after < 0:
                server.breaks_after = None
                self._number = -1
        if self._number != server.connections:
            raise DatabaseError("lost", "the connection is gone")
        return server.ask(sql)

    def query_batch(
        self, selects: Sequence[str], next_deadline: Callable[[], float]
    ) -> Iterator[list[FakeRow]]:
        answers = [self.query(sql, next_deadline()) for sql in selects]
        spoil, self._server.spoil = self._server.spoil, list
        yield from spoil(answers)

    def detect_charset(self, _: float) -> None:
        """UTF-8."""

    def count_received(self) -> None:
        """Nothing is received."""

    def close(self) -> None:
        self._number = -1
