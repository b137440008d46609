"""The login flow: read the password, ask whether it may be tried, connect, note how that ended."""

from collections.abc import Sequence
from typing import Generic

from ase_exporter.ase.connection import PROGRAM, Endpoint, Opened, Opener
from ase_exporter.ase.database_error import DatabaseError, Kind
from ase_exporter.ase.login_backoff import (
    BUSY,
    DIRECTORIES,
    DIRECTORY_RETRIES,
    Account,
    DirectoryRetries,
    LocalLedger,
    LoginLedger,
    Outcome,
    Permit,
)
from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.ase.unanswered_login import UnansweredLogin
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth


class Login(Generic[Opened]):
    """One login to one server.

    attempts: how often the server was asked. ledger: decides whether it may be; that of the web process knows what
    other targets, and workers before this one, have tried. retries: shared with the other logins of this process.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        auth: Auth,
        open_connection: Opener[Opened],
        *,
        program: str = PROGRAM,
        ledger: LoginLedger | None = None,
        clock: Clock = SYSTEM_CLOCK,
        timing: Timing = TIMING,
        retries: DirectoryRetries = DIRECTORY_RETRIES,
    ) -> None:
        self.attempts = 0
        self._endpoint = endpoint
        self._auth = auth
        self._open_connection = open_connection
        self._program = program
        self._ledger = ledger or LocalLedger(clock, timing)
        self._clock = clock
        self._timing = timing
        self._retries = retries
        # The password that was accepted last, and the one that LDAP or PAM accepted.
        self._accepted: str | None = None
        self._accepted_by_directory: str | None = None
        # A login whose answer is awaited, and the password and the number of its attempt.
        self._unanswered: tuple[UnansweredLogin, str, int] | None = None

    def open(self, deadline: float) -> Opened:
        """Log in with the password as it is now.

        Raises UserError if it cannot be read, DatabaseError as `Connection.open` does; `login_suspended`,
        without asking the server, while the password must not be tried.
        """
        user, password = self._auth.user, self._auth.read_password()
        self._settle()
        permit: Permit | None = None

        def ask(addresses: Sequence[str]) -> None:
            nonlocal permit
            permit = self._begin(addresses, password, deadline)
            self.attempts += 1

        outcome: Outcome = "unknown"
        attempts = 1
        try:
            connection = self._open_connection(
                self._endpoint, user, password, deadline=deadline, program=self._program, permit=ask
            )
            outcome = "accepted"
        except DatabaseError as error:
            error.conceal(password)
            outcome, attempts = _outcome(error), error.attempts
            if error.unanswered and permit:
                if permit.accepted:
                    error.unanswered.max_wait = self._timing.accepted_login_wait
                self._unanswered = error.unanswered, password, permit.number
            raise
        finally:
            if permit:
                self._note(permit.number, password, outcome, attempts)
        self._accepted = password
        self._retries.release(user, password)
        return connection

    def close(self) -> None:
        """Give up waiting for an answer."""
        if self._unanswered:
            unanswered, password, number = self._unanswered
            unanswered.close()
            self._unanswered = None
            self._note(number, password, "unknown")

    def note_mechanism(self, mechanism: str) -> None:
        """Note who checked the password of the last login. mechanism: @@authmech, '' if it is not known."""
        self._accepted_by_directory = self._accepted if mechanism in DIRECTORIES else None

    def _begin(self, addresses: Sequence[str], password: str, deadline: float) -> Permit:
        """The permit of an attempt. Raises DatabaseError if it is not allowed."""
        user = self._auth.user
        names = {self._endpoint.host, *addresses}
        accounts = frozenset(Account(name, self._endpoint.port, user) for name in names)
        permit = self._ledger.begin(accounts, password, deadline)
        if permit.denied:
            kind: Kind = "deadline" if permit.denied == BUSY else "login_suspended"
            raise DatabaseError(kind, f"login {user} {permit.denied}")
        if permit.directory_retry and not self._retries.take(user, password, self._clock.monotonic()):
            self._ledger.note(permit.number, "not_refused")
            raise DatabaseError(
                "login_suspended", f"login {user} was refused; another target tries it this hour"
            )
        return permit

    def _note(self, number: int, password: str, outcome: Outcome, attempts: int = 1) -> None:
        directory = password == self._accepted_by_directory
        self._ledger.note(number, outcome, directory=directory, attempts=attempts)

    def _settle(self) -> None:
        """Note how an unanswered login has ended. Raises DatabaseError `deadline` if it has not."""
        if self._unanswered is None:
            return
        unanswered, password, number = self._unanswered
        outcome = unanswered.outcome()
        if outcome == "unanswered":
            where = f"{self._endpoint.host}:{self._endpoint.port}"
            raise DatabaseError(
                "deadline", f"{where} has not answered a login for {unanswered.seconds:.0f} s"
            )
        self._unanswered = None
        self._note(number, password, outcome)


def _outcome(error: DatabaseError) -> Outcome:
    if error.unanswered:
        return "unanswered"
    if error.uncertain:
        return "unknown"
    return "refused" if error.may_be_refused else "not_refused"
