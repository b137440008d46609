"""System procedures that are T-SQL themselves, and those of administration that are accepted without effect."""

from collections.abc import Iterator

from ase_simulator.results import Result
from ase_simulator.sql.errors import all_messages
from ase_simulator.sql.procedures.registry import ProcedureCall, procedure
from ase_simulator.sql.syntax.parser import parse_batch
from ase_simulator.sql.syntax.statements import CreateProcedure

_TEXTS = (
    """create procedure sp_autoformat @fulltabname varchar(1000), @selectlist varchar(8000) = null,
        @whereclause varchar(8000) = null, @orderby varchar(8000) = null
    as exec ('select ' + isnull(@selectlist, '*') + ' from ' + @fulltabname + ' ' + @whereclause + ' ' + @orderby)""",
)
SCRIPTED: dict[str, CreateProcedure] = {
    made.name: made for text in _TEXTS for made in parse_batch(text) if isinstance(made, CreateProcedure)
}
_WITHOUT_EFFECT = (
    "sp_addsegment", "sp_addthreshold", "sp_deviceattr", "sp_diskdefault", "sp_dropsegment", "sp_dropthreshold",
    "sp_extendsegment", "sp_logdevice", "sp_logiosize", "sp_metrics", "sp_modifythreshold", "sp_shmdumpconfig",
)  # fmt: skip


def _no_effect(call: ProcedureCall) -> Iterator[Result]:
    yield from ()


for _name in _WITHOUT_EFFECT:
    procedure(_name, *(f"@argument{place} varchar(255) = null" for place in range(1, 9)))(_no_effect)


@procedure(
    "sp_namecrack",
    "@name varchar(1279)",
    "@server varchar(255) = null output",
    "@database varchar(255) = null output",
    "@owner varchar(255) = null output",
    "@object varchar(255) = null output",
)
def sp_namecrack(call: ProcedureCall) -> Iterator[Result]:
    """Splits `server.database.owner.object`."""
    parts = [None, None, None, *(part or None for part in (call.text("@name") or "").split("."))]
    for parameter, part in zip(("@server", "@database", "@owner", "@object"), parts[-4:], strict=True):
        call.values[parameter] = part
    yield from ()


@procedure(
    "sp_getmessage",
    "@message_num int",
    "@result varchar(1024) = null output",
    "@language varchar(30) = null",
)
def sp_getmessage(call: ProcedureCall) -> Iterator[Result]:
    """The text of a message; status 1 if there is none of that number."""
    known = all_messages().get(call.number("@message_num") or 0)
    call.values["@result"] = None if known is None else known[-1]
    call.status = int(known is None)
    yield from ()
