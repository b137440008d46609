"""Named caches: sp_cacheconfig, sp_poolconfig, sp_bindcache, sp_unbindcache, sp_helpcache."""

import re
from collections.abc import Iterator, Sequence

from ase_simulator.contracts import Row
from ase_simulator.results import Message, Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table

_UNITS_KB = {"p": 2, "k": 1, "m": 1024, "g": 1024 * 1024}


@procedure(
    "sp_cacheconfig",
    "@cachename varchar(255) = null",
    "@parm1 varchar(255) = null",
    "@parm2 varchar(255) = null",
    "@parm3 varchar(255) = null",
    "@parm4 varchar(255) = null",
    "@parm5 varchar(255) = null",
)
def sp_cacheconfig(call: ProcedureCall) -> Iterator[Result]:
    """Shows the caches, or creates or changes one: size, type, replacement, partitions."""
    name = call.text("@cachename")
    words = [word for number in range(1, 6) if (word := call.text(f"@parm{number}"))]
    if name is not None and words:
        yield from _configure(call, name, words)
        return
    caches = [
        row for row in cache_rows(call) if name is None or name.lower() in str(row["cache_name"]).lower()
    ]
    if not caches:
        call.status = 1
        yield Message(18037, 16, 1, f"The specified named cache '{name}' does not exist.", "sp_cacheconfig")
        return
    yield from _overview(caches)
    for cache in caches:
        yield from _details(call, cache)


def _configure(call: ProcedureCall, name: str, words: Sequence[str]) -> Iterator[Result]:
    _needs_sa(call)
    settings: dict[str, object] = {}
    for word in words:
        lowered = word.lower()
        partition = re.fullmatch(r"cache_partitions?\s*=\s*(\w+)", lowered)
        if partition:
            settings["partitions"] = 1 if partition[1] == "default" else _whole(partition[1], word)
        elif lowered in ("strict", "relaxed"):
            settings["strategy"] = lowered
        elif lowered in (
            "mixed",
            "logonly",
            "inmemory_storage",
            "row_storage",
            "lockless",
            "lockless_data_cache",
        ):
            settings["cache_type"] = lowered
        elif (size := size_kb(word)) is not None:
            settings["size_kb"] = size
        elif lowered.startswith("instance "):
            continue
        else:
            call.status = 1
            yield Message(
                18133, 16, 1, f"Unknown option '{word}' specified for cache '{name}'.", "sp_cacheconfig"
            )
            return
    call.server.configure_cache(name, **settings)  # type: ignore[arg-type]
    for key, value in settings.items():
        call.session.record_change("sp_cacheconfig", name, key, None, str(value), "")
    if set(settings) <= {"size_kb"}:
        yield print_line(
            "The change is completed. The option is dynamic and ASE need not be rebooted for the "
            "change to take effect."
        )
    else:
        yield print_line("The change is completed. ASE must be restarted for the change to take effect.")


def size_kb(text: str) -> int | None:
    """`512K`, `2G`, `100M`, `300` (KB) as KB; None if it is not a size."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([pkmg]?)b?", text.strip().lower())
    return int(float(found[1]) * _UNITS_KB.get(found[2] or "k", 1)) if found else None


def _whole(text: str, shown: str) -> int:
    if not text.isdigit():
        raise SqlError(249, "implicit", "VARCHAR", shown, "INT")
    return int(text)


def _needs_sa(call: ProcedureCall) -> None:
    if "sa_role" not in call.session.roles:
        raise SqlError(10353, "sa_role")


def cache_rows(call: ProcedureCall) -> list[Row]:
    """Configured and run values of each cache, from syscacheinfo."""
    return list(call.rows("syscacheinfo"))


def _mb(megabytes: object) -> str:
    return f"{float(str(megabytes or 0)):.2f} Mb"


def _overview(caches: Sequence[Row]) -> Iterator[Result]:
    yield table(
        "[Cache Name] varchar(30), [Status] varchar(9), [Type] varchar(8), [Config Value] varchar(12), "
        "[Run Value] varchar(12)",
        [
            (
                cache["cache_name"],
                cache["cache_status"],
                cache["cache_type"],
                f"{_mb(cache['config_size']):>12}",
                f"{_mb(cache['run_size']):>12}",
            )
            for cache in caches
        ],
    )
    totals = [sum(float(str(cache[key] or 0)) for cache in caches) for key in ("config_size", "run_size")]
    yield print_line(f"{'':48} ------------ ------------")
    yield print_line(f"{'':42}Total {_mb(totals[0]):>12} {_mb(totals[1]):>12}")


def _details(call: ProcedureCall, cache: Row) -> Iterator[Result]:
    yield print_line("==========================================================================")
    yield print_line(
        f"Cache: {cache['cache_name']},   Status: {cache['cache_status']},   Type: {cache['cache_type']}"
    )
    yield print_line(f"      Config Size: {_mb(cache['config_size'])},   Run Size: {_mb(cache['run_size'])}")
    yield print_line(
        f"      Config Replacement: {cache['config_replacement']},   Run Replacement: "
        f"{cache['run_replacement']}"
    )
    yield print_line(
        f"      Config Partition: {cache['config_partitions']:>12},   Run Partition: "
        f"{cache['run_partitions']:>12}"
    )
    yield table(
        "[IO Size] varchar(8), [Wash Size] varchar(10), [Config Size] varchar(12), [Run Size] varchar(12), "
        "[APF Percent] varchar(11)",
        [
            (
                f"{int(str(pool['IOBufferSize'])) // 1024:>5} Kb",
                f"{pool['WashSize']:>7} Kb",
                f"{_mb(float(str(pool['AllocatedKB'])) / 1024):>12}",
                f"{_mb(float(str(pool['AllocatedKB'])) / 1024):>12}",
                f"{pool['APFPercentage']:>6}",
            )
            for pool in call.rows("monCachePool")
            if pool["CacheName"] == cache["cache_name"]
        ],
    )


@procedure(
    "sp_poolconfig",
    "@cachename varchar(255) = null",
    "@parm1 varchar(255) = null",
    "@parm2 varchar(255) = null",
    "@parm3 varchar(255) = null",
)
def sp_poolconfig(call: ProcedureCall) -> Iterator[Result]:
    """Shows a cache's pools, or moves memory into the pool of one buffer size."""
    name = call.text("@cachename")
    caches = [row for row in cache_rows(call) if name is None or row["cache_name"] == name]
    if not caches:
        call.status = 1
        yield Message(18037, 16, 1, f"The specified named cache '{name}' does not exist.", "sp_poolconfig")
        return
    size, io_size = call.text("@parm1"), call.text("@parm2")
    if size is None or name is None:
        yield from _overview(caches)
        for cache in caches:
            yield from _details(call, cache)
        return
    _needs_sa(call)
    wanted, buffers = size_kb(size), size_kb(io_size or "")
    if io_size is not None and (io_size.lower().startswith("wash") or "apf" in io_size.lower()):
        yield print_line(
            "The change is completed. The option is dynamic and ASE need not be rebooted for the "
            "change to take effect."
        )
        return
    if wanted is None or buffers is None:
        call.status = 1
        yield Message(
            18135, 16, 1, f"Invalid buffer size '{io_size}' for a pool of cache '{name}'.", "sp_poolconfig"
        )
        return
    call.server.configure_pool(name, buffers, wanted)
    call.session.record_change("sp_poolconfig", name, f"{buffers}K pool", None, f"{wanted}K", "dynamic")
    yield print_line(
        "The change is completed. The option is dynamic and ASE need not be rebooted for the change "
        "to take effect."
    )


@procedure(
    "sp_bindcache",
    "@cachename varchar(255)",
    "@dbname varchar(255)",
    "@tabname varchar(255) = null",
    "@indname varchar(255) = null",
    roles=("sa_role",),
)
def sp_bindcache(call: ProcedureCall) -> Iterator[Result]:
    """Binds a database, table or index to a cache."""
    database = _database(call)
    call.server.bind_cache(call.text("@cachename"), database, _object(call))
    call.session.record_change(
        "sp_bindcache",
        call.text("@cachename") or "",
        _object(call) or database,
        None,
        "bound",
        "dynamic",
    )
    yield from ()


@procedure(
    "sp_unbindcache",
    "@dbname varchar(255)",
    "@tabname varchar(255) = null",
    "@indname varchar(255) = null",
    roles=("sa_role",),
)
def sp_unbindcache(call: ProcedureCall) -> Iterator[Result]:
    """Unbinds a database, table or index from its cache."""
    call.server.bind_cache(None, _database(call), _object(call))
    yield from ()


@procedure("sp_unbindcache_all", "@cachename varchar(255)", roles=("sa_role",))
def sp_unbindcache_all(call: ProcedureCall) -> Iterator[Result]:
    """Unbinds everything that is bound to a cache."""
    for row in call.rows("simCacheBindings"):
        if row["CacheName"] == call.text("@cachename"):
            name = row["ObjectName"]
            call.server.bind_cache(None, str(row["DBName"]), str(name) if name else None)
    yield from ()


def _database(call: ProcedureCall) -> str:
    name = call.text("@dbname") or ""
    if name not in call.session.names.databases():
        raise SqlError(17421, name)
    return name


def _object(call: ProcedureCall) -> str | None:
    name = call.text("@tabname")
    return name.split(".")[-1] if name else None


@procedure("sp_helpcache", "@cachename varchar(255) = null")
def sp_helpcache(call: ProcedureCall) -> Iterator[Result]:
    """Sizes, overhead and bindings of the caches, or the overhead of a cache of a given size."""
    name = call.text("@cachename")
    if name is not None and (size := size_kb(name)) is not None:
        yield print_line(
            f"{size * 0.0525 / 1024:.2f}Mb of overhead memory will be needed to manage a cache of size {name}"
        )
        return
    caches = [row for row in cache_rows(call) if name is None or row["cache_name"] == name]
    yield table(
        "[Cache Name] varchar(30), [Config Size] varchar(12), [Run Size] varchar(12), [Overhead] varchar(12)",
        [
            (row["cache_name"], _mb(row["config_size"]), _mb(row["run_size"]), _mb(row["overhead"]))
            for row in caches
        ],
    )
    yield print_line("\nCache Binding Information:\n")
    bound = [row for row in call.rows("simCacheBindings") if name is None or row["CacheName"] == name]
    yield table(
        "[Cache Name] varchar(30), [Entity Name] varchar(255), [Type] varchar(20), [Index Name] "
        "varchar(255), "
        "[Status] varchar(8)",
        [
            (
                row["CacheName"],
                f"{row['DBName']}.dbo.{row['ObjectName']}" if row["ObjectName"] else row["DBName"],
                "table" if row["ObjectName"] else "database",
                None,
                "V",
            )
            for row in bound
        ],
    )
