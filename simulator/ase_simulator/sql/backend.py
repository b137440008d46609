"""ase_simulator.contracts.Backend over a model: who may log in, and what all sessions of a server share."""

from collections.abc import Iterable
from datetime import datetime

from ase_simulator.contracts import LoginRequest, Server
from ase_simulator.results import Message
from ase_simulator.schema.catalog import catalog
from ase_simulator.sql.errors import message
from ase_simulator.sql.history import History
from ase_simulator.sql.logins import Login, Logins, standard_logins
from ase_simulator.sql.objects import catalog_numbers
from ase_simulator.sql.session import SqlSession
from ase_simulator.sql.statements import CreateProcedure
from ase_simulator.sql.storage import PermanentTables


class SqlBackend:
    """The T-SQL front end of one server.

    logins: who may come in; by default `sa` without a password and `ase_exporter` with mon_role alone.
    """

    charset = "utf8"

    def __init__(self, server: Server, logins: Iterable[Login] | None = None) -> None:
        self.server = server
        self.catalog = catalog(server.version)
        self.profile = self.catalog.profile
        self.version = self.profile.banner
        self.logins = Logins(
            standard_logins() if logins is None else logins,
            {str(row["name"]): int(str(row["suid"])) for row in server.table("syslogins")},
        )
        self.numbers = catalog_numbers(self.catalog)
        self.permanent = PermanentTables()
        self.procedures: dict[tuple[str, str], CreateProcedure] = {}
        self.history = History()
        # sp_dboption: database -> bits of sysdatabases.status that were set and cleared.
        self.database_options: dict[str, tuple[int, int]] = {}
        self.most_used: dict[str, int] = {}
        self.monitored: tuple[dict[str, int], datetime] | None = None
        self.sessions: dict[int, SqlSession] = {}

    @property
    def name(self) -> str:
        """@@servername."""
        return self.server.name

    def login(self, request: LoginRequest) -> SqlSession | Message:
        """A session, or message 4002 for whoever may not come in, 6002 while the server goes down."""
        if not self.server.running:
            return message(6002)
        login = self.logins.find(request.user)
        locked = login is not None and (login.locked or login.name in self.server.locked_logins)
        if login is None or locked or login.password != request.password:
            if login is not None:
                login.failures += 1
            return message(4002)
        login.failures = 0
        spid = self.server.attach(request)
        session = SqlSession(self, login, request, spid)
        self.sessions[spid] = session
        return session

    def forget(self, session: SqlSession) -> None:
        """A session ended."""
        if self.sessions.pop(session.spid, None) is not None:
            self.server.detach(session.spid)
