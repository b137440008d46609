"""The server under test, given by the environment: a real ASE, or the simulator in its place; and the load on it.

REAL_ASE_HOST, REAL_ASE_PORT (5000), REAL_ASE_SA (sa), REAL_ASE_SA_PASSWORD; REAL_ASE_USER (ase_exporter) and
REAL_ASE_PASSWORD of the monitoring login, which is created if it is not there. Without a host, STAND_IN is the version
that is simulated. REAL_ASE_SECONDS: how long it is scraped. REAL_ASE_REPORTS: the folder of what is written.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.paths import DEPLOY, REPOSITORY
from tests.planted import DATABASE
from tests.simulator.test_cli import simulator

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.config import Auth, Config, Target
from ase_exporter.untrusted.encoders import sql_literal

NAME = "REAL"
# Of a real server, of a stand-in, and of one in `make test-slow`.
SECONDS, STAND_IN_SECONDS, SHORT_SECONDS = 600.0, 110.0, 20.0
TIMEOUT = 120.0
DEADLOCK = 1205


@dataclass(frozen=True)
class Server:
    """Address, logins, the seconds of the long test, and the folder of the reports."""

    host: str
    port: int
    sa: Auth
    monitor: Auth
    seconds: float
    reports: Path
    is_real: bool

    @property
    def target(self) -> Target:
        return Target(name=NAME, host=self.host, port=self.port)

    @property
    def config(self) -> Config:
        return Config(targets=(self.target,), auth={"default": self.monitor, "sa": self.sa})

    @property
    def environment(self) -> dict[str, str]:
        """For commands of the exporter."""
        return {
            "ASE_HOST": self.host,
            "ASE_PORT": str(self.port),
            "ASE_USER": self.monitor.user,
            "ASE_PASSWORD": self.monitor.read_password(),
        }

    def connected(self, auth: Auth) -> AbstractContextManager[Connection]:
        """A connection of that login."""
        endpoint, password = Endpoint(self.host, self.port), auth.read_password()
        end = time.monotonic() + TIMEOUT
        return closing(Connection.open(endpoint, auth.user, password, deadline=end))

    def write(self, name: str, text: str) -> None:
        """Write a report."""
        (self.reports / name).write_text(text, encoding="utf-8")


def batches(script: Path, values: Mapping[str, str] | None = None) -> list[str]:
    """The batches of a script for isql. values: replace these words."""
    text = script.read_text(encoding="utf-8")
    for word, value in (values or {}).items():
        text = text.replace(word, value)
    return [batch for batch in text.split("\ngo\n") if batch.strip()]


def execute(connection: Connection, *statements: str) -> None:
    """Execute statements one after the other."""
    for sql in statements:
        connection.query(sql, time.monotonic() + TIMEOUT)


def load_script(name: str) -> list[str]:
    """The batches of a script of the load."""
    return batches(DEPLOY / "real-ase" / f"{name}.sql")


@contextmanager
def server(
    version: str | None, reports: Path, stand_in_seconds: float = STAND_IN_SECONDS
) -> Iterator[Server]:
    """The real server, or a simulated one of that version. reports: the folder if the environment names none."""
    given = os.environ.get
    reports = REPOSITORY / given("REAL_ASE_REPORTS", str(reports))
    reports.mkdir(parents=True, exist_ok=True)
    seconds = float(given("REAL_ASE_SECONDS", SECONDS if version is None else stand_in_seconds))
    user = given("REAL_ASE_USER", "ase_exporter")
    if version is not None:
        login = f"--login=sa:{DATABASE}"
        with simulator("--scenario=quiet-oltp", f"--version={version}", login) as (_, (port,)):
            sa, monitor = Auth(user="sa", password=DATABASE), Auth(user=user, password=DATABASE)
            yield Server("127.0.0.1", port, sa, monitor, seconds, reports, is_real=False)
    else:
        sa = Auth(user=given("REAL_ASE_SA", "sa"), password=given("REAL_ASE_SA_PASSWORD", ""))
        monitor = Auth(user=user, password=given("REAL_ASE_PASSWORD", ""))
        host, port = os.environ["REAL_ASE_HOST"], int(given("REAL_ASE_PORT", "5000"))
        yield Server(host, port, sa, monitor, seconds, reports, is_real=True)


def prepare(found: Server) -> None:
    """Create the monitoring login unless it is there, turn on the options, create the tables of the load."""
    quoted = found.monitor.read_password().replace("'", "''")
    login = {"CHANGE_ME": quoted, "ase_exporter": found.monitor.user}
    with found.connected(found.sa) as admin:
        exists = f"select 1 from master..syslogins where name = {sql_literal(found.monitor.user)}"
        if not admin.query(exists, time.monotonic() + TIMEOUT):
            execute(admin, *batches(DEPLOY / "sql" / "create_login.sql", login))
        execute(admin, *batches(DEPLOY / "sql" / "enable_monitoring.sql"), *load_script("objects"))


@contextmanager
def load(found: Server, connections: int = 3) -> Iterator[None]:
    """Repeat the work of the load over several connections until the block ends; then remove its tables."""
    ended = threading.Event()
    failures: list[DatabaseError] = []

    def work() -> None:
        with found.connected(found.sa) as connection:
            # The simulator needs the processor for its answers.
            while not ended.wait(0.05 if found.is_real else 1.0):
                try:
                    execute(connection, *load_script("work"))
                except DatabaseError as error:
                    # Deadlocks are part of the load.
                    if error.number != DEADLOCK:
                        failures.append(error)
                        return

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(TIMEOUT)
        with found.connected(found.sa) as admin, suppress(DatabaseError):
            execute(admin, *load_script("drop"))
    assert failures == []


@contextmanager
def blocking_pair(found: Server) -> Iterator[None]:
    """One connection holds a lock that another one waits for, until the block ends."""

    def wait_for_the_lock() -> None:
        with found.connected(found.sa) as blocked:
            execute(blocked, *load_script("blocked"))

    waiting = threading.Thread(target=wait_for_the_lock)
    with found.connected(found.sa) as blocker:
        execute(blocker, *load_script("block"))
        waiting.start()
        try:
            yield
        finally:
            execute(blocker, "rollback transaction")
            waiting.join(TIMEOUT)
