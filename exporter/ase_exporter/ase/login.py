"""The login flow: read the password, respect the login backoff, connect, note a refusal."""

import random
from typing import Generic

from ase_exporter.ase.connection import PROGRAM, Endpoint, Opened, Opener
from ase_exporter.ase.database_error import DatabaseError
from ase_exporter.ase.login_backoff import (
    DIRECTORIES,
    DIRECTORY_RETRIES,
    DirectoryRetries,
    LoginBackoff,
    next_backoff,
)
from ase_exporter.ase.timing import TIMING, Timing
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth


class Login(Generic[Opened]):
    """One login to one server.

    attempts: how often the server was asked. backoff: set while the server refuses the password; may be handed
    to the Login of another process, so that a replaced worker does not get the account locked. retries: shared with
    the other logins of this process.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        auth: Auth,
        open_connection: Opener[Opened],
        *,
        program: str = PROGRAM,
        backoff: LoginBackoff | None = None,
        clock: Clock = SYSTEM_CLOCK,
        timing: Timing = TIMING,
        retries: DirectoryRetries = DIRECTORY_RETRIES,
    ) -> None:
        self.attempts = 0
        self.backoff = backoff
        self._endpoint = endpoint
        self._auth = auth
        self._open_connection = open_connection
        self._program = program
        self._clock = clock
        self._timing = timing
        self._retries = retries
        # The password that was accepted last, and the one that LDAP or PAM accepted.
        self._accepted: str | None = None
        self._accepted_by_directory: str | None = None

    def open(self, deadline: float) -> Opened:
        """Log in with the password as it is now.

        Raises UserError if it cannot be read, DatabaseError as `Connection.open` does; `login_suspended`,
        without asking the server, while the backoff lasts.
        """
        user, password = self._auth.user, self._auth.read_password()
        now = self._clock.monotonic()
        if self.backoff and (reason := self.backoff.forbids(password, now)):
            raise DatabaseError("login_suspended", f"login {user} {reason}")
        exhausted = self.backoff and self.backoff.password == password and self.backoff.is_exhausted
        if exhausted and not self._retries.take(user, password, now):
            raise DatabaseError(
                "login_suspended", f"login {user} was refused; another target tries it this hour"
            )
        self.attempts += 1
        try:
            connection = self._open_connection(
                self._endpoint, user, password, deadline=deadline, program=self._program
            )
        except DatabaseError as error:
            error.conceal(password)
            if error.kind in ("login_failed", "login_locked"):
                self.backoff = next_backoff(
                    self.backoff,
                    password,
                    self._clock.monotonic(),
                    random.uniform(*self._timing.login_pause),
                    directory=password == self._accepted_by_directory,
                )
            raise
        self.backoff = None
        self._accepted = password
        self._retries.release(user, password)
        return connection

    def note_mechanism(self, mechanism: str) -> None:
        """Note who checked the password of the last login. mechanism: @@authmech, '' if it is not known."""
        self._accepted_by_directory = self._accepted if mechanism in DIRECTORIES else None
