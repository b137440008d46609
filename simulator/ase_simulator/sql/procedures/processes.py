"""sp_who, sp_lock, sp_showplan, sp_monitor, sp_engine."""

from collections.abc import Iterator

from ase_simulator.results import Message, Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.lookup.server_facts import engine_count, running_text
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table
from ase_simulator.sql.state.monitor_table import COUNTERS, TABLE
from ase_simulator.sql.types.values import microseconds, moment_of

_LOCK_TYPES = {
    1: "Ex_table",
    2: "Sh_table",
    3: "Ex_intent",
    4: "Sh_intent",
    5: "Ex_page",
    6: "Sh_page",
    7: "Update_page",
    8: "Ex_row",
    9: "Sh_row",
    10: "Update_row",
    11: "Sh_nextkey",
    12: "Ex_address",
    13: "Sh_address",
}
_BLOCKING, _DEMAND, _REQUESTED = 256, 512, 1024


@procedure("sp_who", "@loginame varchar(255) = null", "@option varchar(255) = null")
def sp_who(call: ProcedureCall) -> Iterator[Result]:
    """Processes: all, or those of one login or spid."""
    wanted = call.text("@loginame")
    session = call.session
    if wanted is not None and not wanted.isdigit() and session.shared.logins.find(wanted) is None:
        call.status = 1
        yield Message(17231, 16, 1, "No login with the specified name exists.", "sp_who")
        return
    databases = {number: name for name, number in session.names.databases().items()}
    rows: list[tuple[object, ...]] = []
    for row in call.rows("sysprocesses"):
        login = session.names.login_name(_number(row.get("suid"))) or str(row.get("loginame") or "")
        if wanted is not None and wanted not in (login, str(row["spid"])):
            continue
        rows.append(
            (
                row.get("fid") or 0,
                row["spid"],
                row.get("status"),
                login,
                login,
                row.get("hostname"),
                str(row.get("blocked") or 0),
                databases.get(_number(row.get("dbid"))),
                "tempdb",
                row.get("cmd"),
                row.get("block_xloid") or 0,
                "syb_default_pool",
            )
        )
    modern = session.profile.level >= (15, 7, 0, 0, 0)
    columns = (
        "[fid] smallint, [spid] smallint, [status] char(12), [loginame] char(30), [origname] char(30), "
        "[hostname] char(30), [blk_spid] char(5), [dbname] char(30), [tempdbname] char(30), [cmd] char(30), "
        "[block_xloid] int, [threadpool] char(30)"
    )
    if not modern:
        columns = columns.removesuffix(", [threadpool] char(30)").replace("[tempdbname] char(30), ", "")
        rows = [(*row[:8], *row[9:11]) for row in rows]
    yield table(columns, sorted(rows, key=lambda row: (_number(row[0]), _number(row[1]))))


def _number(value: object) -> int:
    return int(str(value or 0))


@procedure("sp_lock", "@spid1 int = null", "@spid2 int = null", "@verbose int = 0")
def sp_lock(call: ProcedureCall) -> Iterator[Result]:
    """All locks, or those of one or two processes."""
    spids = {call.number("@spid1"), call.number("@spid2")} - {None}
    databases = {number: name for name, number in call.session.names.databases().items()}
    yield print_line(
        "The class column will display the cursor name for locks associated with a cursor for the "
        "current user and the cursor id for other users."
    )
    yield table(
        "[fid] smallint, [spid] smallint, [loid] int, [locktype] varchar(30), [table_id] int, [page] int, "
        "[row] smallint, [dbname] varchar(30), [class] varchar(30), [context] varchar(15)",
        [
            (
                lock.get("fid") or 0,
                lock["spid"],
                lock.get("loid"),
                lock_name(_number(lock.get("type"))),
                lock.get("id"),
                lock.get("page") or 0,
                lock.get("row") or 0,
                databases.get(_number(lock.get("dbid"))),
                lock.get("class") or "Non Cursor Lock",
                None,
            )
            for lock in call.rows("syslocks")
            if not spids or lock["spid"] in spids
        ],
    )


def lock_name(number: int) -> str:
    """A lock type as spt_values names it: `Ex_table-blk`, `Sh_page-request`."""
    name = _LOCK_TYPES.get(number & 0xFF, "unknown")
    if number & _BLOCKING:
        name += "-blk"
    if number & _REQUESTED:
        name += "-request"
    return name


@procedure("sp_monitor", "@option varchar(30) = null", "@name varchar(255) = null", roles=("sa_role",))
def sp_monitor(call: ProcedureCall) -> Iterator[Result]:
    """CPU, I/O and network since the last sp_monitor, and since the start in brackets."""
    session = call.session
    tick = int(session.variable_value("@@timeticks") or 100_000)
    now = session.now()
    names = list(COUNTERS.values())
    current = {name: int(session.variable_value(name) or 0) for name in names}
    kept = session.shared.permanent.find("master", TABLE)
    assert kept is not None
    lastrun, *figures = (int(value or 0) for value in kept.rows[0])
    last_run, last = moment_of(lastrun), dict(zip(names, figures, strict=True))
    kept.rows = [(microseconds(now), *current.values())]
    seconds = max(int((now - last_run).total_seconds()), 0)
    yield table("[last_run] datetime, [current_run] datetime, [seconds] int", [(last_run, now, seconds)])
    per_second = 1_000_000 // tick
    cpu = []
    for name in names[:3]:
        total, since = current[name] // per_second, (current[name] - last[name]) // per_second
        cpu.append(
            f"{total}({since})-{100 * since // max(seconds * max(engine_count(session.server), 1), 1)}%"
        )
    yield table("[cpu_busy] varchar(25), [io_busy] varchar(25), [idle] varchar(25)", [cpu])
    shown = [f"{current[name]}({current[name] - last[name]})" for name in names[3:]]
    yield table(
        "[packets_received] varchar(25), [packets_sent] varchar(25), [packet_errors] varchar(25)", [shown[:3]]
    )
    yield table(
        "[total_read] varchar(19), [total_write] varchar(19), [total_errors] varchar(19), "
        "[connections] varchar(18)",
        [shown[3:]],
    )


@procedure("sp_engine", "@cmd varchar(30)", "@number int = null", roles=("sa_role",))
def sp_engine(call: ProcedureCall) -> Iterator[Result]:
    """Brings an engine online or takes it offline."""
    command = (call.text("@cmd") or "").lower()
    online = sorted(int(str(row["EngineNumber"])) for row in call.rows("monEngine"))
    if command in ("online", "offline"):
        number = call.number("@number")
        if number is None:
            number = (online[-1] + 1 if online else 0) if command == "online" else online[-1]
        call.server.set_engine(number, command == "online")
        call.session.record_change(
            "sp_engine", call.server.name, f"engine {number}", None, command, "dynamic"
        )
        yield print_line(f"Engine {number} is {command}.")
    elif command in ("can_offline", "status", "shutdown"):
        yield table("[engine] int, [status] varchar(12)", [(number, "online") for number in online])
    else:
        raise SqlError(17870, command)


@procedure(
    "sp_showplan",
    "@spid int = null",
    "@batch_id int = null output",
    "@context_id int = null output",
    "@stmt_num int = null output",
    "@option varchar(30) = null",
)
def sp_showplan(call: ProcedureCall) -> Iterator[Result]:
    """The statement that a process runs, without the steps of its plan."""
    spid = call.number("@spid")
    text = running_text(call.server, spid)
    if text is None:
        call.status = 1
        yield print_line(
            f"There is no active server process for the specified spid value '{spid}'. Possibly the user process has "
            "terminated."
        )
        return
    yield print_line("QUERY PLAN FOR STATEMENT 1 (at line 1).")
    yield print_line("STEP 1")
    yield print_line(f"The type of query is {text.split(maxsplit=1)[0].upper()}.")
