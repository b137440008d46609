"""USE, SET, transactions, DBCC, GRANT, KILL and other statements known by their first words."""

from collections.abc import Callable, Iterator, Sequence

from ase_simulator.results import Disconnect, Ended, EnvChange, Message, Result
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError, message, refusal
from ase_simulator.sql.execute import set_options
from ase_simulator.sql.logins import change_role

DbccCommand = Callable[[Context, Sequence[str]], Iterator[Result]]

_DONE = (
    "DBCC execution completed. If DBCC printed error messages, contact a user with System Administrator (SA) "
    "role."
)
DBCC: dict[str, tuple[Sequence[str], DbccCommand]] = {}


def dbcc(name: str, *roles: str) -> Callable[[DbccCommand], DbccCommand]:
    """Registers a DBCC command; any one of the roles is needed. It takes the session and the arguments."""

    def register(run: DbccCommand) -> DbccCommand:
        DBCC[name] = (roles, run)
        return run

    return register


def _dbcc(session: Context, words: Sequence[str]) -> Iterator[Result]:
    """Raises SqlError 10353, 2526."""
    session.activity.command = "DBCC"
    name, arguments = (
        words[1].lower() if len(words) > 1 else "",
        [word for word in words[2:] if word not in "()"],
    )
    if name not in DBCC:
        raise refusal("dbcc", name, SqlError(2526, name))
    roles, run = DBCC[name]
    if roles and not set(roles) & set(session.roles):
        raise SqlError(10353, ", ".join(roles))
    yield from run(session, arguments)
    yield Message(2528, 10, 1, _DONE)


@dbcc("traceon", "sa_role", "sybase_ts_role")
def _traceon(session: Context, arguments: Sequence[str]) -> Iterator[Result]:
    for flag in arguments:
        session.traceflags.add(flag)
        session.record_change("dbcc traceon", session.server.name, flag, None, "on", "dynamic")
    yield from ()


@dbcc("traceoff", "sa_role", "sybase_ts_role")
def _traceoff(session: Context, arguments: Sequence[str]) -> Iterator[Result]:
    session.traceflags.difference_update(arguments)
    yield from ()


@dbcc("monitor", "sa_role")
def _monitor(session: Context, arguments: Sequence[str]) -> Iterator[Result]:
    """sysmonitors is always up to date here, so that only `clear` has something to do."""
    actions = ("clear", "decrement", "increment", "sample", "select")
    if len(arguments) != 3 or arguments[0].lower() not in actions:
        raise SqlError(102, "monitor")
    if arguments[0].lower() == "clear":
        session.server.clear_monitors()
    yield from ()


def run_command(session: Context, words: Sequence[str]) -> Iterator[Result]:
    """One statement by its words; raises SqlError."""
    handler = _COMMANDS.get(words[0].lower())
    if handler is None:
        raise NotSimulatedError(" ".join(word for word in words[:2] if word.isalpha()).upper())
    yield from handler(session, [word for word in words if word != ","])


def _grant(session: Context, words: Sequence[str]) -> Iterator[Result]:
    lowered = [word.lower() for word in words]
    giving = lowered[0] == "grant"
    between = "to" if giving else "from"
    if between not in lowered:
        raise SqlError(102, words[-1])
    split = lowered.index(between)
    names = words[split + 1 :]
    if lowered[1] == "role":
        if not {"sso_role", "sa_role"} & set(session.roles):
            raise SqlError(10353, "sso_role")
        for role in words[2:split]:
            for name in names:
                change_role(session.shared.logins.find(name), giving, role)
    elif "sa_role" not in session.roles:
        raise SqlError(230, lowered[0].upper(), session.database, "dbo")
    elif lowered[1:3] == ["select", "on"]:
        readers = session.shared.readers.setdefault((session.database, words[3].split(".")[-1]), {"public"})
        (readers.update if giving else readers.difference_update)(names)
    yield from ()


def _shutdown(session: Context, words: Sequence[str]) -> Iterator[Result]:
    if "sa_role" not in session.roles:
        raise SqlError(10353, "sa_role")
    yield Message(0, 10, 1, "Server SHUTDOWN by request.")
    yield Message(0, 10, 1, "ASE is terminating this process.")
    session.server.shutdown()
    yield Disconnect()


def _kill(session: Context, words: Sequence[str]) -> Iterator[Result]:
    if "sa_role" not in session.roles:
        raise SqlError(10353, "sa_role")
    number = words[1] if len(words) > 1 else ""
    if not number.isdigit():
        raise SqlError(102, number or words[0])
    victim = int(number)
    if victim == session.spid:
        raise SqlError(6104)
    if victim not in session.shared.sessions:
        raise SqlError(6106, number)
    session.shared.sessions[victim].kill()
    yield from ()


def _use(session: Context, words: Sequence[str]) -> Iterator[Result]:
    if len(words) != 2:
        raise SqlError(102, words[-1])
    session.enter(words[1])
    old, session.names.database = session.database, words[1]
    yield EnvChange("database", session.database, old)
    yield message(5701, session.database)


def _set(session: Context, words: Sequence[str]) -> Iterator[Result]:
    yield from set_options.apply(session, words[1:])
    yield Ended()


def _transaction(session: Context, words: Sequence[str]) -> Iterator[Result]:
    action = words[0].lower()
    if action == "begin":
        session.transactions.begin(words[2] if len(words) > 2 else "")
    elif action == "commit":
        session.transactions.commit()
    else:
        session.transactions.rollback()
    yield Ended()


def _administration(session: Context, words: Sequence[str]) -> Iterator[Result]:
    """CHECKPOINT, RECONFIGURE and UPDATE STATISTICS: the model shows nothing of what they change."""
    if not {"sa_role", "oper_role"} & set(session.roles):
        raise SqlError(262, words[0].upper(), session.database, "dbo")
    yield from ()


_COMMANDS: dict[str, Callable[[Context, Sequence[str]], Iterator[Result]]] = {
    "use": _use,
    "set": _set,
    "dbcc": _dbcc,
    **dict.fromkeys(("begin", "commit", "rollback"), _transaction),
    "grant": _grant,
    "revoke": _grant,
    "shutdown": _shutdown,
    "kill": _kill,
    "update": _administration,
    "checkpoint": _administration,
    "reconfigure": _administration,
}
