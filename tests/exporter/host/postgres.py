"""A real PostgreSQL on loopback, started as another user than root, in a directory of its own."""

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.ports import free_block


@dataclass(frozen=True, slots=True)
class Postgres:
    """pid: of the main process; directory: its data, which is its server label."""

    pid: int
    directory: Path
    port: int

    def run(self, program: str, *arguments: str) -> str:
        """Run a client program (psql, pgbench) on database postgres; return its standard output."""
        address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "tester")
        command = [_program(program), *address, *arguments, "postgres"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name) or ""


def _user() -> pwd.struct_passwd:
    """The user that runs it: the current one, or postgres or nobody if that is root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("root may not run PostgreSQL, and there is neither a user postgres nor nobody")


@contextmanager
def postgres(**settings: str) -> Iterator[Postgres]:
    """A running server with the given settings; skips without PostgreSQL's programs.

    Its directory is not below pytest's, which every pytest that starts closes to other users.
    """
    if not _program("initdb") or not _program("postgres"):
        pytest.skip("needs PostgreSQL's initdb and postgres (Debian: postgresql)")
    user = _user()
    with tempfile.TemporaryDirectory(prefix="postgres-") as directory:
        data = Path(directory)
        if os.geteuid() == 0:
            os.chown(data, user.pw_uid, user.pw_gid)
        yield from _serve(data, user, settings)


def _serve(data: Path, user: pwd.struct_passwd, settings: dict[str, str]) -> Iterator[Postgres]:
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(program: str, *arguments: str) -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        command = [_program(program), "-D", str(data), *arguments]
        ended = subprocess.run(command, capture_output=True, cwd=data, env=environment, text=True, **as_user)
        assert ended.returncode == 0, ended.stderr

    run("initdb", "-U", "tester", "--auth=trust", "--no-sync")
    port = free_block(1)
    options = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "port": str(port),
        "fsync": "off",
        **settings,
    }
    words = shlex.join(word for name, value in options.items() for word in ("-c", f"{name}={value}"))
    run("pg_ctl", "-w", "-t", "60", "-l", str(data / "log"), "-o", words, "start")
    try:
        pid = int((data / "postmaster.pid").read_text().split()[0])
        yield Postgres(pid=pid, directory=data, port=port)
    finally:
        run("pg_ctl", "-w", "-t", "60", "-m", "immediate", "stop")
