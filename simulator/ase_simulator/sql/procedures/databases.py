"""sp_helpdb, sp_dboption, sp_spaceused, sp_helpdevice, sp_helpsegment, sp_helplog."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.results import Message, Result
from ase_simulator.sql.lookup.space import log_pages, log_size, object_kilobytes
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table

_PAGE_KB = 4
_STATUS = {
    4: "select into/bulkcopy/pllsort",
    8: "trunc log on chkpt",
    16: "no chkpt on recovery",
    1024: "read only",
    2048: "dbo use only",
    4096: "single user",
    512: "ddl in tran",
}
_STATUS2 = {16: "abort tran on log full", 32768: "mixed log and data"}


def _int(value: object) -> int:
    return int(str(value or 0))


def options_of(database: Row) -> str:
    """The options of a database as sp_helpdb lists them."""
    status, status2 = _int(database.get("status")), _int(database.get("status2"))
    names = [name for bit, name in _STATUS.items() if status & bit]
    names += [name for bit, name in _STATUS2.items() if status2 & 0xFFFF & bit]
    return ", ".join(names) or "no options set"


@procedure("sp_helpdb", "@dbname varchar(255) = null", "@order varchar(20) = null")
def sp_helpdb(call: ProcedureCall) -> Iterator[Result]:
    """All databases, or one with its fragments."""
    wanted = call.text("@dbname")
    databases = [row for row in call.session.names.database_rows() if wanted is None or row["name"] == wanted]
    if not databases:
        call.status = 1
        yield Message(17590, 16, 1, "The specified database does not exist.", "sp_helpdb")
        return
    usages = list(call.rows("sysusages"))
    shown = []
    for row in sorted(databases, key=lambda row: str(row["name"])):
        pages = sum(_int(usage.get("size")) for usage in usages if usage["dbid"] == row["dbid"])
        created = row.get("crdate")
        shown.append(
            (
                row["name"],
                f"{pages * _PAGE_KB / 1024:10.1f} MB",
                "sa",
                row["dbid"],
                f"{created:%b %d, %Y}" if created else None,
                str(row.get("durability_text") or "full"),
                options_of(row),
            )
        )
    yield table(
        "[name] varchar(30), [db_size] char(13), [owner] varchar(30), [dbid] smallint, [created] char(14), "
        "[durability] varchar(10), [status] varchar(255)",
        shown,
    )
    if wanted is not None:
        yield from _fragments(call, databases[0], usages)


def _fragments(call: ProcedureCall, database: Row, usages: list[Row]) -> Iterator[Result]:
    devices = {_int(row.get("vdevno")): row["name"] for row in call.rows("sysdevices")}
    yield table(
        "[device_fragments] char(30), [size] char(13), [usage] char(20), [created] char(25), [free "
        "kbytes] char(16)",
        [
            (
                devices.get(_int(usage.get("vdevno")), "master"),
                f"{_int(usage.get('size')) * _PAGE_KB / 1024:10.1f} MB",
                segments(_int(usage.get("segmap"))),
                f"{usage['crdate']:%b %d %Y %I:%M%p}" if usage.get("crdate") else None,
                "not applicable"
                if _int(usage.get("segmap")) == 4
                else f"{_int(usage.get('unreservedpgs')) * _PAGE_KB:>16}",
            )
            for usage in usages
            if usage["dbid"] == database["dbid"]
        ],
    )
    logs = [usage for usage in usages if usage["dbid"] == database["dbid"] and _int(usage.get("segmap")) & 4]
    if logs:
        free = sum(_int(usage.get("unreservedpgs")) for usage in logs)
        yield table("[log_info] varchar(80)", [(f"log only free kbytes = {free * _PAGE_KB}",)])


def segments(segmap: int) -> str:
    """Usage of a fragment, from its segment map."""
    if segmap == 4:
        return "log only"
    return "data and log" if segmap & 4 else "data only"


@procedure(
    "sp_dboption",
    "@dbname varchar(255) = null",
    "@optname varchar(30) = null",
    "@optvalue varchar(10) = null",
    "@dockpt tinyint = 1",
)
def sp_dboption(call: ProcedureCall) -> Iterator[Result]:
    """Lists the options that can be set, or sets one."""
    name, option, value = call.text("@dbname"), call.text("@optname"), call.text("@optvalue")
    names = [
        *_STATUS.values(),
        *_STATUS2.values(),
        "async log service",
        "delayed commit",
        "unique auto_identity index",
        "enforce dump tran sequence",
        "full logging for all",
        "allow nulls by default",
        "auto identity",
    ]
    if name is None:
        yield print_line("Settable database options.\n")
        yield table("[database_options] varchar(30)", [(item,) for item in sorted(names)])
        return
    if name not in call.session.names.databases():
        call.status = 1
        yield Message(17421, 16, 1, "No such database -- run sp_helpdb to list databases.", "sp_dboption")
        return
    found = [item for item in names if option and item.startswith(option.lower())]
    if len(found) != 1 or value not in ("true", "false"):
        call.status = 1
        yield Message(
            17422,
            16,
            1,
            "Database option doesn't exist or can't be set by user."
            if len(found) != 1
            else "Usage: sp_dboption [dbname, optname, {true | false}]",
            "sp_dboption",
        )
        return
    bit = next((bit for bit, text in _STATUS.items() if text == found[0]), 0)
    set_bits, cleared = call.session.shared.database_options.get(name, (0, 0))
    call.session.shared.database_options[name] = (
        (set_bits | bit, cleared & ~bit) if value == "true" else (set_bits & ~bit, cleared | bit)
    )
    call.session.record_change("sp_dboption", name, found[0], None, value, "dynamic")
    yield print_line(
        f"Database option '{found[0]}' turned {'ON' if value == 'true' else 'OFF'} for database '{name}'."
    )
    yield print_line(
        "Running CHECKPOINT on database '" + name + "' for option '" + found[0] + "' to take effect."
    )


@procedure("sp_spaceused", "@objname varchar(255) = null", "@list_indices int = 0")
def sp_spaceused(call: ProcedureCall) -> Iterator[Result]:
    """The space of the current database, or of one table."""
    session = call.session
    number = session.names.databases()[session.database]
    name = call.text("@objname")
    if name == "syslogs":
        yield _log_space(call, number)
        return
    if name is not None:
        if session.names.object_id(name) is None:
            call.status = 1
            yield Message(17461, 16, 1, "Object does not exist in this database.", "sp_spaceused")
            return
        data, indexes = object_kilobytes(call.server, number, session.names.object_id(name))
        yield table(
            "[name] varchar(255), [reserved] varchar(15), [data] varchar(15), [index_size] varchar(15), "
            "[unused] varchar(15)",
            [(name.split(".")[-1], f"{data + indexes} KB", f"{data} KB", f"{indexes} KB", "0 KB")],
        )
        return
    usages = [row for row in call.rows("sysusages") if row["dbid"] == number]
    pages = sum(_int(row.get("size")) for row in usages)
    free = sum(_int(row.get("unreservedpgs")) for row in usages)
    yield table(
        "[database_name] varchar(255), [database_size] char(13)",
        [(session.database, f"{pages * _PAGE_KB / 1024:.1f} MB")],
    )
    yield table(
        "[reserved] varchar(15), [unreserved] varchar(15)",
        [(f"{(pages - free) * _PAGE_KB} KB", f"{free * _PAGE_KB} KB")],
    )


def _log_space(call: ProcedureCall, number: int) -> Result:
    """The log of a database, as sp_spaceused shows its table."""
    size = log_size(call.server, number) * _PAGE_KB
    free = (log_pages(call.server, "logsegment_freepages", number) or 0) * _PAGE_KB
    return table(
        "[name] varchar(255), [total_pages] varchar(15), [free_pages] varchar(15), [used_pages] varchar(15), "
        "[reserved_pages] varchar(15)",
        [("syslogs", f"{size} KB", f"{free} KB", f"{size - free} KB", "0 KB")],
    )


@procedure("sp_helpdevice", "@devname varchar(255) = null")
def sp_helpdevice(call: ProcedureCall) -> Iterator[Result]:
    """The database devices."""
    wanted = call.text("@devname")
    rows = [row for row in call.rows("sysdevices") if wanted is None or row["name"] == wanted]
    if wanted is not None and not rows:
        call.status = 1
        yield Message(
            17471,
            16,
            1,
            "No such device exists -- run sp_helpdevice to list the ASE devices.",
            "sp_helpdevice",
        )
        return
    yield table(
        "[device_name] varchar(30), [physical_name] varchar(127), [description] varchar(255), "
        "[status] smallint, "
        "[cntrltype] smallint, [vdevno] int, [vpn_low] int, [vpn_high] int",
        [
            (
                row["name"],
                row.get("phyname"),
                f"file system device, special, dsync off, directio on, physical disk, "
                f"{(_int(row.get('high')) - _int(row.get('low')) + 1) * 2 / 1024:.2f} MB",
                row.get("status"),
                row.get("cntrltype"),
                row.get("vdevno"),
                row.get("low"),
                row.get("high"),
            )
            for row in sorted(rows, key=lambda row: str(row["name"]))
        ],
    )


@procedure("sp_helpsegment", "@segname varchar(255) = null")
def sp_helpsegment(call: ProcedureCall) -> Iterator[Result]:
    """The segments of the current database."""
    names = {0: "system", 1: "default", 2: "logsegment"}
    wanted = call.text("@segname")
    yield table(
        "[segment] smallint, [name] varchar(255), [status] smallint",
        [(number, name, 0) for number, name in names.items() if wanted in (None, name)],
    )


@procedure("sp_helplog")
def sp_helplog(call: ProcedureCall) -> Iterator[Result]:
    """The device on which the log begins."""
    number = call.session.names.databases()[call.session.database]
    devices = {_int(row.get("vdevno")): row["name"] for row in call.rows("sysdevices")}
    logs = [row for row in call.rows("sysusages") if row["dbid"] == number and _int(row.get("segmap")) & 4]
    name = devices.get(_int(logs[0].get("vdevno")), "master") if logs else "master"
    yield print_line(f"In database '{call.session.database}', the log starts on device '{name}'.")


@procedure("sp_tempdb", "@command varchar(30) = null", "@name varchar(255) = null")
def sp_tempdb(call: ProcedureCall) -> Iterator[Result]:
    """The groups of temporary databases and what is bound to them: nothing but tempdb in its group."""
    yield table("[Tempdb Groups] varchar(30)", [("default",)])
    yield table("Database varchar(30), GroupName varchar(30)", [("tempdb", "default")])
    yield table(
        "Login varchar(30), Application varchar(30), Group varchar(30), Database varchar(30), Hardness varchar(10)",
        [],
    )
