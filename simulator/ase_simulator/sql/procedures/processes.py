"""sp_engine."""

from collections.abc import Iterator

from ase_simulator.results import Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table


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
