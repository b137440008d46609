"""The T-SQL front end of one simulated server: ase_simulator.contracts.Backend over a model."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ase_simulator.contracts import LoginRequest
from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Message
from ase_simulator.schema.catalog import catalog
from ase_simulator.sql.errors import message
from ase_simulator.sql.logins import Login, Logins, standard_logins
from ase_simulator.sql.lookup.names import catalog_object_ids
from ase_simulator.sql.procedures import PROCEDURES
from ase_simulator.sql.state.server_state import ServerState

if TYPE_CHECKING:
    from ase_simulator.sql.session import SqlSession


class SqlBackend:
    """The T-SQL front end of one server.

    logins: by default `sa` without a password and `ase_exporter` with mon_role only.
    """

    charset = "utf8"

    def __init__(self, server: SimulatedServer, logins: Iterable[Login] | None = None) -> None:
        self.server = server
        tables = catalog(server.version)
        self.version = tables.profile.banner
        self.shared = ServerState(
            catalog=tables,
            charset=self.charset,
            logins=Logins(
                standard_logins() if logins is None else logins,
                {str(row["name"]): int(str(row["suid"])) for row in server.table("syslogins")},
            ),
            object_ids=catalog_object_ids(tables),
            system_procedures=frozenset(PROCEDURES),
        )

    @property
    def name(self) -> str:
        return self.server.name

    def login(self, request: LoginRequest) -> "SqlSession | Message":
        """A session, or message 4002 if the login fails, 1640 if the password had to be encrypted, 6002 while the
        server shuts down."""
        if not self.server.running:
            return message(6002)
        if self.server.run_value("net password encryption reqd") and not request.encrypted:
            return message(1640)
        login = self.shared.logins.find(request.user)
        if login is None or not self._accepts(login, request):
            return message(4002)
        from ase_simulator.sql.session import SqlSession  # a third of the start, for what no one may ask for

        login.failures = 0
        spid = self.server.attach(request)
        session = SqlSession(self.server, self.shared, login, request, spid)
        self.shared.sessions[spid] = session
        return session

    def _accepts(self, login: Login, request: LoginRequest) -> bool:
        """Whether the password is right; too many wrong ones lock the login, unless LDAP or PAM checks them.

        Failed logins by LDAP change nothing in syslogins (System Administration Guide, "Managing user accounts
        locally").
        """
        faults = self.server.faults
        if login.locked or login.name in self.server.locked_logins:
            return False
        if faults.authentication != "ase":
            return not faults.directory_down and login.password == request.password
        if login.password == request.password:
            return True
        login.failures += 1
        allowed = self.server.run_value("maximum failed logins")
        login.locked = 0 < allowed <= login.failures
        return False
