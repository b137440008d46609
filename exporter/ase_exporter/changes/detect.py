"""Looking at one ASE: what its configuration is now, by plain selects over the target's one connection.

What a server of that version or a login of those rights cannot read is left out, and tried again later.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from ase_exporter.changes import volatile
from ase_exporter.changes.snapshot import Event, Look, Part, Setting, encode
from ase_exporter.connection import DatabaseError

Query = Callable[[str], Sequence[Sequence[Any]]]
Objects = dict[str, dict[str, Setting]]
Reader = Callable[[Query], Objects]

# What could not be read is asked for again after this long: a role may have been granted.
RETRY = 300.0
# Bindings are read database by database; beyond these a look would take too many statements.
MOST_DATABASES = 200
_FIRST_AUDIT_WINDOW = 7 * 86400
_MOST_EVENTS = 500
_VOLATILE_OPTIONS = frozenset(map(str.lower, volatile.OPTIONS))
_VOLATILE_DATABASE_OPTIONS = frozenset(map(str.lower, volatile.DATABASE_OPTIONS))

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


@dataclass(frozen=True, slots=True)
class Source:
    """One way to read one kind; the first of a kind that the server answers is used."""

    kind: str
    name: str
    read: Reader


class Watch:
    """Looks at one target at an interval. For the target's own thread."""

    def __init__(self, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._clock = clock
        self._next = clock()
        self._asked: float | None = None
        self._looked: float | None = None
        self._sent: bytes | None = None
        self._unreadable: dict[str, float] = {}
        self._heard: frozenset[tuple[object, ...]] | None = None

    def due(self) -> bool:
        """Whether to look now, so that the scrape after this shows a change before the interval is over."""
        now = self._clock()
        period = 0.0 if self._asked is None else now - self._asked
        self._asked = now
        # Scrapes come a little early or late: half a period for that.
        return now + 1.5 * period >= self._next

    def look(self, query: Query) -> Look:
        """Read everything once. DatabaseError if time is up or the connection lost: then nothing was seen."""
        began, now = self._clock(), time.time()
        self._next = began + self._interval
        snapshot: dict[str, Part] = {}
        ages: dict[str, float] = {}
        for source in SOURCES:
            if source.kind in snapshot:
                continue
            objects = self._try(f"{source.kind} {source.name}", partial(source.read, query))
            if objects is not None:
                snapshot[source.kind] = Part(source.kind, source.name, objects)
        for kind, statement in (("restart", BOOT), ("counters_cleared", CLEARED)):
            rows = self._try(kind, partial(query, statement))
            if rows and isinstance(rows[0][0], datetime):
                stamp = rows[0][0].isoformat(" ", "seconds")
                snapshot[kind] = Part(kind, kind, {"server": {"": Setting(stamp)}})
                ages[kind] = float(rows[0][1])
        # Some versions list the named caches among the options, too.
        if "option" in snapshot and "cache" in snapshot:
            option, caches = snapshot["option"], snapshot["cache"].objects
            own = {name: value for name, value in option.objects.items() if name not in caches}
            snapshot["option"] = Part(option.kind, option.source, own)
        if "database" in snapshot:
            self._read_bindings(query, sorted(snapshot["database"].objects), snapshot)
        events = self._events(query)
        encoded = encode(snapshot)
        look = Look(
            at=now,
            snapshot=None if encoded == self._sent else encoded,
            moments={kind: now - age for kind, age in ages.items()},
            events=events,
        )
        self._sent, self._looked = encoded, began
        return look

    def _read_bindings(self, query: Query, databases: Sequence[str], snapshot: dict[str, Part]) -> None:
        rows = self._try("binding", partial(query, DATABASE_BINDINGS))
        if rows is not None:
            objects = {_text(name): {"": Setting(_text(cache_name))} for name, cache_name in rows}
            snapshot["binding:"] = Part("binding", "sysattributes", objects)
        for database in databases[:MOST_DATABASES]:
            sql = OBJECT_BINDINGS.format(database=_identifier(database))
            rows = self._try(f"binding {database}", partial(query, sql))
            if rows is not None:
                objects = {
                    _bound_name(database, name, index): {"": Setting(_text(cache_name))}
                    for name, index, cache_name in rows
                }
                snapshot[f"binding:{database}"] = Part("binding", "sysattributes", objects)

    def _events(self, query: Query) -> tuple[Event, ...]:
        window = _FIRST_AUDIT_WINDOW
        if self._looked is not None:
            window = int(2 * self._interval + self._clock() - self._looked)
        rows = self._try("ch_events", partial(query, EVENTS.format(seconds=window)))
        if rows is None:
            return ()
        now = time.time()
        keys = [tuple(row[:-1]) for row in rows]
        earlier, self._heard = self._heard, frozenset(keys)
        events = []
        for row, key in zip(rows, keys, strict=True):
            kind, target, element, old, new, who = (_text(value) for value in row[:6])
            heard = None if earlier is None else key in earlier
            events.append(Event(now - float(row[-1]) / 1000, kind, target, element, old, new, who, heard))
        return tuple(sorted(events, key=lambda event: event.at)[-_MOST_EVENTS:])

    def _try(self, what: str, read: Callable[[], Any]) -> Any:
        if self._unreadable.get(what, 0.0) > self._clock():
            return None
        try:
            return read()
        except DatabaseError as error:
            if not error.usable or error.kind == "deadline":
                raise
            self._unreadable[what] = self._clock() + RETRY
            return None


def read_options(query: Query) -> Objects:
    """Configured and run value of every option (sysconfigures, syscurconfigs)."""
    objects: Objects = {}
    for name, value, text, run, run_text in query(OPTIONS):
        name = _text(name)
        if name and name.lower() not in _VOLATILE_OPTIONS:
            setting = Setting(_text(text) or _number(value), _text(run_text) or _number(run))
            objects[name] = {"": setting}
    return objects


def read_caches(query: Query) -> Objects:
    """Caches and pools, configured and as they run (syscacheinfo, syspoolinfo; since 15.7). Sizes in MB."""
    objects: Objects = {
        _text(name): {
            "type": Setting(_text(kind)),
            "size": Setting(f"{_number(size)} MB", f"{_number(run_size)} MB"),
            "replacement": Setting(_text(strategy), _text(run_strategy)),
            "partitions": Setting(_number(partitions), _number(run_partitions)),
        }
        for name, kind, size, run_size, strategy, run_strategy, partitions, run_partitions in query(CACHES)
    }
    for name, io_size, size, run_size, wash, apf in query(POOLS):
        attributes = objects.get(_text(name), {})
        pool = f"{_number(io_size)}K pool"
        attributes[f"{pool} size"] = Setting(f"{_number(size)} MB", f"{_number(run_size)} MB")
        attributes[f"{pool} wash"] = Setting(f"{_number(wash)} KB")
        attributes[f"{pool} APF percent"] = Setting(_number(apf))
    return _without_main_pools(objects)


def read_mon_caches(query: Query) -> Objects:
    """Caches and pools as they run (monDataCache, monCachePool; since 15.7). Sizes in KB."""
    objects: Objects = {
        _text(name): {
            "type": Setting(_text(kind)),
            "size": Setting(f"{_number(size)} KB"),
            "replacement": Setting(_text(strategy)),
            "partitions": Setting(_number(partitions)),
        }
        for name, kind, size, strategy, partitions in query(MON_CACHES)
    }
    for name, io_size, size, wash, apf in query(MON_POOLS):
        attributes = objects.get(_text(name), {})
        pool = f"{int(io_size) // 1024}K pool"
        attributes[f"{pool} size"] = Setting(f"{_number(size)} KB")
        attributes[f"{pool} wash"] = Setting(f"{_number(wash)} KB")
        attributes[f"{pool} APF percent"] = Setting(_number(apf))
    return _without_main_pools(objects)


def read_old_caches(query: Query) -> Objects:
    """Caches and pools as they run, as far as versions before 15.7 tell."""
    objects: Objects = {
        _text(name): {
            "replacement": Setting("relaxed LRU" if relaxed else "strict LRU"),
            "partitions": Setting(_number(partitions)),
        }
        for name, relaxed, partitions in query(OLD_CACHES)
    }
    for name, io_size, size in query(OLD_POOLS):
        objects.get(_text(name), {})[f"{int(io_size) // 1024}K pool size"] = Setting(f"{_number(size)} KB")
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
    """Databases with their options, by the server's own names of the bits (sysdatabases, spt_values)."""
    databases = query(DATABASES)
    columns = {"D": 0, "D2": 1, "D3": 2}
    options = [
        (columns[_text(kind)], int(bit), _text(name))
        for kind, bit, name in query(OPTION_BITS)
        if _text(name).lower() not in _VOLATILE_DATABASE_OPTIONS and int(bit).bit_count() == 1
    ]
    return {
        _text(name): {"": Setting("exists")}
        | {
            option: Setting("on" if int(status[column] or 0) & bit else "off")
            for column, bit, option in options
        }
        for name, *status in databases
    }


def read_database_names(query: Query) -> Objects:
    """Databases alone, where the options cannot be read."""
    return {_text(row[0]): {"": Setting("exists")} for row in query("select name from master..sysdatabases")}


def read_version(query: Query) -> Objects:
    """@@version."""
    return {"server": {"": Setting(_text(query(VERSION)[0][0]))}}


SOURCES: Sequence[Source] = (
    Source("option", "sysconfigures", read_options),
    Source("cache", "syscacheinfo", read_caches),
    Source("cache", "monDataCache", read_mon_caches),
    Source("cache", "monDataCache before 15.7", read_old_caches),
    Source("engine", "sysengines", read_engines),
    Source("engine", "monEngine", lambda query: read_engines(query, MON_ENGINES)),
    Source("thread_pool", "monThreadPool", read_thread_pools),
    Source("database", "sysdatabases with options", read_databases),
    Source("database", "sysdatabases", read_database_names),
    Source("version", "@@version", read_version),
)


def option_values(snapshot: Mapping[str, Part]) -> Iterator[tuple[str, float]]:
    """Run values of all numeric options of a snapshot."""
    for name, attributes in snapshot["option"].objects.items() if "option" in snapshot else ():
        try:
            yield name, float(attributes[""].run or "")
        except ValueError:
            continue


def _without_main_pools(objects: Objects) -> Objects:
    """The pool of the smallest buffers gets what the others leave: its size is nobody's setting."""
    for attributes in objects.values():
        sizes = [int(name.partition("K ")[0]) for name in attributes if name.endswith("pool size")]
        if sizes:
            del attributes[f"{min(sizes)}K pool size"]
    return objects


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _number(value: object) -> str:
    """A number as people write it: 95000, 0.5; '' for NULL."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    number = float(str(value))
    return str(int(number)) if number.is_integer() else f"{number:.2f}".rstrip("0")


def _identifier(database: str) -> str:
    """A database's name inside a statement; names that need quoting are put in brackets."""
    return database if database.isidentifier() and database.isascii() else f"[{database.replace(']', ']]')}]"


def _bound_name(database: str, name: object, index: object) -> str:
    label = f"{database}..{_text(name)}"
    return f"{label} index {index}" if index else label
