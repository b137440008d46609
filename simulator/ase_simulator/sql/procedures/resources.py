"""sp_monitorconfig: how much of each configured resource is in use."""

from collections.abc import Callable, Iterator

from ase_simulator.contracts import Option
from ase_simulator.results import Message, Result
from ase_simulator.sql.procedures.configuration import matching
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table

_COLUMNS = "Name varchar(30), Num_free int, Num_active int, Pct_act char(6), Max_Used int, Reuse_cnt int"


def _count(name: str) -> Callable[[ProcedureCall], int]:
    return lambda call: len(call.rows(name))


def _open(*, indexes: bool, tables: bool) -> Callable[[ProcedureCall], int]:
    def count(call: ProcedureCall) -> int:
        kinds = [int(str(row["IndexID"])) > 0 for row in call.rows("monOpenObjectActivity")]
        return sum((kind and indexes) or (not kind and tables) for kind in kinds)

    return count


def _users(call: ProcedureCall) -> int:
    return sum(int(str(row.get("suid") or 0)) > 0 for row in call.rows("sysprocesses"))


def _procedure_cache(call: ProcedureCall) -> int:
    return sum(int(str(row.get("Active") or 0)) for row in call.rows("monProcedureCacheModuleUsage"))


def _memory(call: ProcedureCall) -> int:
    """Of max memory, in its unit: pages of 2 KB."""
    return sum(option.memory_used for option in call.server.options()) // 2


def _nothing(call: ProcedureCall) -> int:
    return 0


# what sp_monitorconfig knows: how many units of an option are in use
_ACTIVE: dict[str, Callable[[ProcedureCall], int]] = {
    "audit queue size": _nothing,
    "disk i/o structures": _nothing,
    "max memory": _memory,
    "max online engines": _count("monEngine"),
    "number of alarms": _nothing,
    "number of aux scan descriptors": _nothing,
    "number of devices": _count("sysdevices"),
    "number of dtx participants": _nothing,
    "number of large i/o buffers": _nothing,
    "number of locks": _count("syslocks"),
    "number of mailboxes": _nothing,
    "number of messages": _nothing,
    "number of open databases": _count("monOpenDatabases"),
    "number of open indexes": _open(indexes=True, tables=False),
    "number of open objects": _open(indexes=False, tables=True),
    "number of open partitions": _open(indexes=True, tables=True),
    "number of remote connections": _nothing,
    "number of remote logins": _nothing,
    "number of remote sites": _nothing,
    "number of sort buffers": _nothing,
    "number of user connections": _users,
    "number of worker processes": _nothing,
    "permission cache entries": _nothing,
    "procedure cache size": _procedure_cache,
}


@procedure(
    "sp_monitorconfig",
    "@configname varchar(255)",
    "@result_tbl_name varchar(255) = null",
    roles=("sa_role",),
)
def sp_monitorconfig(call: ProcedureCall) -> Iterator[Result]:
    """How much of each resource is free, in use, was in use at most, and was reused."""
    known = [option for option in call.server.options() if option.name in _ACTIVE]
    wanted = call.text("@configname") or "all"
    chosen = known if wanted.lower() == "all" else matching(known, wanted)
    if not chosen or (wanted.lower() != "all" and len(chosen) > 1):
        call.status = 1
        number, text = (17411, "is not unique") if chosen else (17410, "doesn't exist")
        yield Message(number, 16, 1, f"Configuration option {text}.", "sp_monitorconfig")
        return
    now = call.session.now()
    clock = f"{(now.hour + 11) % 12 + 1:2d}:{now:%M%p}"
    yield print_line(f"Usage information at date and time: {now:%b} {now.day:2d} {now.year} {clock}.\n")
    rows = [_usage(call, option) for option in sorted(chosen, key=lambda option: option.name)]
    if call.session.profile.level >= (15, 5, 0, 0, 0):
        instance = call.server.name if call.session.profile.cluster else None
        yield table(f"{_COLUMNS}, Instance_Name varchar(30)", [(*row, instance) for row in rows])
    else:
        yield table(_COLUMNS, rows)


def _usage(call: ProcedureCall, option: Option) -> tuple[object, ...]:
    active = _ACTIVE[option.name](call)
    max_used = call.session.shared.max_used
    max_used[option.name] = max(active, max_used.get(option.name, 0))
    free = max(option.run - active, 0)
    percent = 100.0 * active / option.run if option.run else 0.0
    return option.name[:30], free, active, f"{percent:6.2f}", max_used[option.name], 0
