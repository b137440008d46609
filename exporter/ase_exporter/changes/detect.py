"""Configuration snapshots of one ASE, by plain selects over the target's one connection.

A part that the server refuses, or answers too slowly, is left out alone and tried again later, less and less often.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.ase.database_error import known_of_message
from ase_exporter.assets import shipped_rows
from ase_exporter.backoff import Backoff
from ase_exporter.changes.snapshot import ConfigSnapshot, Event, Part, Parts, Setting, encode
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.untrusted.encoders import UnwritableNameError, sql_identifier

Query = Callable[[str], Sequence[Sequence[Any]]]
Objects = dict[str, dict[str, Setting]]
ReadObjects = Callable[[Query], Objects]

# Seconds until a part that could not be read is tried again, doubled with each further time: a role may have been
# granted. Databases are many, and one that the login is no user of stays so for longer.
RETRY = 300.0
MAX_RETRY, MAX_DATABASE_RETRY = 3600.0, 21600.0
# Bindings are read database by database; more would take too many statements for one snapshot.
MAX_DATABASES = 200
# Databases that may refuse the login in one snapshot; the others are tried in later ones.
MAX_REFUSED = 3
_FIRST_AUDIT_WINDOW = 7 * 86400
_MAX_EVENTS = 500
# The size of a pool, by the name that `_pool` gives it.
_POOL_SIZE = re.compile(r"([0-9]{1,9})K pool size")
# Msg 208: what this version does not have is not missing.
_NO_SUCH_TABLE = 208
# The kind that a snapshot lacks without the audit trail: who made a change, and when.
_TRAIL = "audit trail"

OPTIONS = (
    "select c.name, c.value, c.value2, u.value, u.value2"
    " from master..sysconfigures c, master..syscurconfigs u"
    " where c.config = u.config and c.config != 19"
)
CACHES = (
    "select cache_name, cache_type, config_size, run_size, config_replacement, run_replacement,"
    " config_partitions, run_partitions from master..syscacheinfo"
)
POOLS = "select cache_name, io_size, config_size, run_size, wash_size, apf_percent from master..syspoolinfo"
MON_CACHES = (
    "select CacheName, Type, CacheSize, ReplacementStrategy, CachePartitions from master..monDataCache"
)
MON_POOLS = "select CacheName, IOBufferSize, AllocatedKB, WashSize, APFPercentage from master..monCachePool"
OLD_CACHES = "select CacheName, RelaxedReplacement, CachePartitions from master..monDataCache"
OLD_POOLS = "select CacheName, IOBufferSize, AllocatedKB from master..monCachePool"
ENGINES = "select engine, status from master..sysengines"
MON_ENGINES = "select EngineNumber, Status from master..monEngine"
THREAD_POOLS = "select ThreadPoolName, Type, Size from master..monThreadPool"
DATABASES = "select name, status, status2, status3 from master..sysdatabases"
OPTION_BITS = (
    "select type, number, name from master..spt_values where type in ('D', 'D2', 'D3') and number > 0"
)
VERSION = "select @@version"
BOOT = "select @@boottime, datediff(ss, @@boottime, getdate())"
CLEARED = "select CountersCleared, datediff(ss, CountersCleared, getdate()) from master..monState"
# Databases that are online and that nobody has for himself: not model, not suspect, loading, recovering, offline,
# upgrading, standby, quiesced, shut down, dropped, proxy or archive, and not for one user or their owner alone.
ENTERABLE = (
    "select name from master..sysdatabases where name <> 'model' and status & 6496 = 0"
    " and isnull(status2, 0) & 1584 = 0 and isnull(status3, 0) & 4206730 = 0"
)
DATABASE_BINDINGS = (
    "select d.name, a.char_value from master..sysattributes a, master..sysdatabases d"
    " where a.class = 3 and a.attribute = 0 and a.object_type = 'D' and a.object = d.dbid"
)
OBJECT_BINDINGS = (
    "select o.name, a.object_info1, a.char_value from {database}..sysattributes a, {database}..sysobjects o"
    " where a.class = 3 and a.attribute = 0 and a.object_type != 'D' and a.object = o.id"
)
EVENTS = (
    "select type, target, element, oldvalue, newvalue, username, timestamp, datediff(ms, timestamp, getdate())"
    " from sybsecurity..ch_events where timestamp > dateadd(ss, -{seconds}, getdate())"
)


@cache
def volatile(of: str) -> frozenset[str]:
    """Options of a server or a database, in lower case, that change without anybody setting them: never reported."""
    rows = shipped_rows(Path(__file__).with_name("volatile.csv"))
    return frozenset(row["name"].lower() for row in rows if row["of"] == of)


class ConfigWatcher:
    """Takes a configuration snapshot of one target at an interval. Used on the target's own thread.

    seconds, statements: what the last snapshot took. missing: the kinds that it lacks, in part or as a whole, though
    the server should have them, with the error. Databases that cannot be entered count as refused instead.
    """

    def __init__(
        self, interval: float, clock: Clock = SYSTEM_CLOCK, *, max_refused: int = MAX_REFUSED
    ) -> None:
        self.interval = interval
        self._max_refused = max_refused
        self.seconds, self.statements = 0.0, 0
        self._clock = clock
        self._last_asked: float | None = None
        self._last_taken: float | None = None
        # When each part was last read, by the monotonic clock.
        self._read_at: dict[str, float] = {}
        # Parts that could not be read, by source, and databases whose bindings could not.
        self._left_out: Backoff[str, DatabaseError] = Backoff(RETRY, MAX_RETRY)
        self._refused: Backoff[str, DatabaseError] = Backoff(RETRY, MAX_DATABASE_RETRY)
        self.missing: dict[str, DatabaseError] = {}
        self._last_events: frozenset[tuple[str, ...]] | None = None
        self._events_at: float | None = None

    def due(self, interval: float | None = None) -> bool:
        """Whether to take a snapshot in this scrape, so that the next one shows a change within the interval.

        interval: in place of its own.
        """
        now = self._clock.monotonic()
        period = 0.0 if self._last_asked is None else now - self._last_asked
        self._last_asked = now
        if self._last_taken is None:
            return True
        # Half a scrape period of tolerance: scrapes come a little early or late.
        return now + 1.5 * period >= self._last_taken + (interval or self.interval)

    def take_snapshot(self, query: Query, limit: float = math.inf) -> ConfigSnapshot:
        """Read all parts once, until a limit (monotonic). Raises DatabaseError if the connection is lost."""
        began, now = self._clock.monotonic(), self._clock.time()
        self.statements = 0

        def counted(sql: str) -> Sequence[Sequence[Any]]:
            self.statements += 1
            return query(sql)

        try:
            return self._take(_Reading(counted, limit, began, now))
        finally:
            self.seconds = self._clock.monotonic() - began
            self._last_taken = began

    @property
    def refused_databases(self) -> dict[str, DatabaseError]:
        """Databases that cannot be entered, with the error: object bindings in them are not seen."""
        return {name: each.reason for name, each in self._refused.failures.items()}

    def _take(self, reading: "_Reading") -> ConfigSnapshot:
        parts: dict[str, Part] = {}
        ages: dict[str, float] = {}
        for kind, source, read in SOURCES:
            if kind in parts:
                continue
            objects = self._try(reading, kind, f"{kind} {source}", partial(read, reading.query))
            if objects is not None:
                parts[kind] = Part(kind, source, objects)
        for kind, statement in (("restart", BOOT), ("counters_cleared", CLEARED)):
            rows = self._try(reading, kind, kind, partial(reading.query, statement))
            if rows and isinstance(rows[0][0], datetime):
                stamp = rows[0][0].isoformat(" ", "seconds")
                parts[kind] = Part(kind, kind, {"server": {"": Setting(stamp)}})
                if (age := _finite(rows[0][1])) is not None:
                    ages[kind] = age
        # Some versions list the named caches as options, too.
        if "option" in parts and "cache" in parts:
            option, caches = parts["option"], parts["cache"].objects
            own = {name: value for name, value in option.objects.items() if name not in caches}
            parts["option"] = Part(option.kind, option.source, own)
        self._read_bindings(reading, parts)
        events = self._events(reading)
        self.missing = {kind: error for kind, error in reading.unseen.items() if kind not in parts}
        return ConfigSnapshot(
            at=reading.now,
            encoded_parts=encode(parts),
            moments={kind: reading.now - age for kind, age in ages.items()},
            events=events,
            monotonic=reading.began,
            last_read=self._read_earlier(parts, reading),
        )

    def _read_earlier(self, parts: Parts, reading: "_Reading") -> dict[str, float]:
        """The Unix times at which parts that the snapshot before lacked were last read; notes that they are now."""
        earlier = {
            key: reading.now - (reading.began - at)
            for key, at in self._read_at.items()
            if key in parts and self._last_taken is not None and at < self._last_taken
        }
        self._read_at.update(dict.fromkeys(parts, reading.began))
        return earlier

    def _read_bindings(self, reading: "_Reading", parts: dict[str, Part]) -> None:
        rows = self._try(reading, "binding", "binding", partial(reading.query, DATABASE_BINDINGS))
        if rows is not None:
            objects = {_text(name): {"": Setting(_text(cache_name))} for name, cache_name in rows}
            parts["binding:"] = Part("binding", "sysattributes", objects)
        names = self._try(reading, "binding", "enterable databases", partial(reading.query, ENTERABLE)) or ()
        databases = sorted(_text(row[0]) for row in names)
        # Those that cannot be entered now were not refused: what is known of them says nothing any more.
        for name in self._refused.failures.keys() - set(databases):
            self._refused.clear(name)
        asked = refused = 0
        for database in self._by_last_reading(databases):
            known = f"binding:{database}" in self._read_at
            if asked >= MAX_DATABASES or (refused >= self._max_refused and not known):
                continue
            asked += 1
            read = partial(_bindings, reading, database)
            rows = self._try(reading, "binding", database, read, self._refused)
            if rows is None:
                refused += 1
                continue
            objects = {
                f"{database}..{_text(name)}" + (f" index {index}" if index else ""): {
                    "": Setting(_text(cache_name))
                }
                for name, index, cache_name in rows
            }
            parts[f"binding:{database}"] = Part("binding", "sysattributes", objects)
        for each in self._refused.failures.values():
            reading.note_unseen("binding", each.reason)

    def _by_last_reading(self, databases: Sequence[str]) -> Sequence[str]:
        """The databases that may be tried now, those never read or read longest ago first."""
        now = self._clock.monotonic()
        ready = [name for name in databases if not self._refused.seconds_left(name, now)]
        return sorted(ready, key=lambda name: self._read_at.get(f"binding:{name}", -math.inf))

    def _events(self, reading: "_Reading") -> tuple[Event, ...]:
        window = _FIRST_AUDIT_WINDOW
        if self._events_at is not None:
            window = int(2 * self.interval + self._clock.monotonic() - self._events_at)
        rows = self._try(reading, _TRAIL, "ch_events", partial(reading.query, EVENTS.format(seconds=window)))
        if rows is None:
            return ()
        self._events_at = reading.began
        now = self._clock.time()
        keys = [tuple(map(_text, row[:-1])) for row in rows]
        earlier, self._last_events = self._last_events, frozenset(keys)
        events = []
        for row, key in zip(rows, keys, strict=True):
            kind, target, element, old, new, who = (_text(value) for value in row[:6])
            seen_before = None if earlier is None else key in earlier
            if (age := _finite(row[-1])) is not None:
                events.append(Event(now - age / 1000, kind, target, element, old, new, who, seen_before))
        return tuple(sorted(events, key=lambda event: event.at)[-_MAX_EVENTS:])

    def _try(
        self,
        reading: "_Reading",
        kind: str,
        what: str,
        read: Callable[[], Any],
        failed: Backoff[str, DatabaseError] | None = None,
    ) -> Any:
        """What a source of a kind gives; None if it is left out. A failure costs the source alone, unless it costs all.

        failed: the sources that have failed, of which it is one; None: parts.
        """
        failed, now = failed or self._left_out, self._clock.monotonic()
        if failed.seconds_left(what, now):
            reading.note_unseen(kind, failed.failures[what].reason)
            return None
        if now >= reading.limit:
            reading.note_unseen(kind, DatabaseError("deadline", "no time was left for it", usable=True))
            return None
        try:
            answer = read()
        except DatabaseError as error:
            accident = error.kind == "deadline" or not error.usable
            # Its traceback would keep all frames alive.
            failed.note(what, error.with_traceback(None), self._clock.monotonic(), accident=accident)
            reading.note_unseen(kind, error)
            if not error.usable:
                raise
            return None
        failed.clear(what)
        return answer


@dataclass(frozen=True, slots=True)
class _Reading:
    """One snapshot being taken. limit, began: monotonic times; now: Unix time of its beginning.

    unseen: kinds with a source that was slow or refused, or that no time was left for.
    """

    query: Query
    limit: float
    began: float
    now: float
    unseen: dict[str, DatabaseError] = field(default_factory=dict)

    def note_unseen(self, kind: str, error: DatabaseError) -> None:
        """Note a failure, unless the server has no such table, or a database cannot be entered."""
        if error.number != _NO_SUCH_TABLE and not known_of_message(error.number, "names_database"):
            self.unseen[kind] = error


def read_options(query: Query) -> Objects:
    """Configured and run value of every option (sysconfigures, syscurconfigs)."""
    objects: Objects = {}
    for name, value, text, run, run_text in query(OPTIONS):
        name = _text(name)
        if name and name.lower() not in volatile("server"):
            setting = Setting(_text(text) or _number(value), _text(run_text) or _number(run))
            objects[name] = {"": setting}
    return objects


def read_caches(query: Query, caches: str, pools: str, unit: str, pool_unit: int) -> Objects:
    """Caches with their pools. unit: of sizes. pool_unit: of a pool's I/O size, per KB."""
    objects: Objects = {}
    for name, kind, *values in query(caches):
        # Each is one value, or the configured value and the run value.
        width = len(values) // 3
        size, strategy, partitions = (values[at : at + width] for at in range(0, len(values), width))
        objects[_text(name)] = {
            "type": Setting(_text(kind)),
            "size": Setting(*(f"{_number(value)} {unit}" for value in size)),
            "replacement": Setting(*map(_text, strategy)),
            "partitions": Setting(*map(_number, partitions)),
        }
    for name, io_size, *size, wash, apf in query(pools):
        pool, attributes = _pool(io_size, pool_unit), objects.get(_text(name), {})
        attributes[f"{pool} size"] = Setting(*(f"{_number(value)} {unit}" for value in size))
        attributes[f"{pool} wash"] = Setting(f"{_number(wash)} KB")
        attributes[f"{pool} APF percent"] = Setting(_number(apf))
    return _without_main_pools(objects)


def read_old_caches(query: Query) -> Objects:
    """Run values of caches and pools that versions before 15.7 have. Sizes in KB."""
    objects: Objects = {
        _text(name): {
            "replacement": Setting("relaxed LRU" if relaxed else "strict LRU"),
            "partitions": Setting(_number(partitions)),
        }
        for name, relaxed, partitions in query(OLD_CACHES)
    }
    for name, io_size, size in query(OLD_POOLS):
        objects.get(_text(name), {})[f"{_pool(io_size, 1024)} size"] = Setting(f"{_number(size)} KB")
    return objects


def read_engines(query: Query, sql: str = ENGINES) -> Objects:
    """Engines that are online."""
    return {f"engine {number}": {"": Setting(_text(status))} for number, status in query(sql)}


def read_thread_pools(query: Query) -> Objects:
    """Thread pools and their sizes (monThreadPool)."""
    return {
        _text(name): {"type": Setting(_text(kind)), "size": Setting(_number(size))}
        for name, kind, size in query(THREAD_POOLS)
    }


def read_databases(query: Query) -> Objects:
    """Databases with their options, named by spt_values (sysdatabases)."""
    databases = query(DATABASES)
    columns = {"D": 0, "D2": 1, "D3": 2}
    options = [
        (columns[_text(kind)], bit, _text(name))
        for kind, number, name in query(OPTION_BITS)
        if _text(kind) in columns and _text(name) and _text(name).lower() not in volatile("database")
        if (bit := _bits(number)) is not None and bit.bit_count() == 1
    ]
    return {
        _text(name): {"": Setting("exists")}
        | {
            option: Setting("on" if bits & bit else "off")
            for column, bit, option in options
            if (bits := _bits(status[column])) is not None
        }
        for name, *status in databases
    }


def read_version(query: Query) -> Objects:
    """The version, as the server says it."""
    rows = query(VERSION)
    return {"server": {"": Setting(_text(rows[0][0]))}} if rows else {}


# Kind, source and reader of the objects of each kind: the first source that the server answers is used.
SOURCES: Sequence[tuple[str, str, ReadObjects]] = (
    ("option", "sysconfigures", read_options),
    # Configured and run values.
    ("cache", "syscacheinfo", partial(read_caches, caches=CACHES, pools=POOLS, unit="MB", pool_unit=1)),
    # Run values.
    (
        "cache",
        "monDataCache",
        partial(read_caches, caches=MON_CACHES, pools=MON_POOLS, unit="KB", pool_unit=1024),
    ),
    ("cache", "monDataCache before 15.7", read_old_caches),
    ("engine", "sysengines", read_engines),
    ("engine", "monEngine", partial(read_engines, sql=MON_ENGINES)),
    ("thread_pool", "monThreadPool", read_thread_pools),
    ("database", "sysdatabases", read_databases),
    ("version", "@@version", read_version),
)


def _without_main_pools(objects: Objects) -> Objects:
    """Drop the size of each cache's smallest pool: it is what the other pools leave, not a setting."""
    for attributes in objects.values():
        sizes = [int(match[1]) for name in attributes if (match := _POOL_SIZE.fullmatch(name))]
        if sizes:
            del attributes[f"{min(sizes)}K pool size"]
    return objects


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _number(value: object) -> str:
    """A number as plain text, such as 95000 or 0.5; '' for NULL."""
    if value is None:
        return ""
    if isinstance(value, str) or (number := _finite(value)) is None:
        return _text(value)
    return str(int(number)) if number.is_integer() else f"{number:.2f}".rstrip("0")


def _finite(value: object) -> float | None:
    """A number of a server; None for anything else, NaN and infinity among it."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _bits(value: object) -> int | None:
    """A column of bits, of which NULL has none set; None for anything else."""
    number = 0.0 if value is None else _finite(value)
    return None if number is None else int(number)


def _pool(io_size: object, unit: int) -> str:
    """The name of a pool, such as 2K pool. unit: of its I/O size, per KB."""
    size = _finite(io_size)
    return f"{_text(io_size) or '?' if size is None else f'{int(size) // unit}K'} pool"


def _bindings(reading: _Reading, database: str) -> Sequence[Sequence[Any]]:
    """The rows of OBJECT_BINDINGS of a database. Raises DatabaseError."""
    try:
        sql = OBJECT_BINDINGS.format(database=sql_identifier(database))
    except UnwritableNameError as error:
        raise DatabaseError("query_failed", str(error), usable=True) from error
    return reading.query(sql)
