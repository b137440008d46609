"""sp_dboption."""

from collections.abc import Iterator

from ase_simulator.results import Message, Result
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table

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
