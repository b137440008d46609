"""`ase-exporter setup`: from an ASE to a configuration that works, and the files for Prometheus and Grafana.

Everything is checked before anything is written, and no file that is there already is changed.
"""

import grp
import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import typer
import yaml

from ase_exporter import assets, config
from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.ase.login import Login
from ase_exporter.catalogue import load_catalogue
from ase_exporter.checks.target_check import TargetCheck, TargetReport
from ase_exporter.checks.view import check_view
from ase_exporter.commands.options import ask_password, named_target, off_main_thread
from ase_exporter.commands.write import rule_texts, shipped_files
from ase_exporter.config import Auth, Config, Target
from ase_exporter.config.interfaces import Address
from ase_exporter.config.times import parse_duration
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_text, writing
from ase_exporter.views.terminal import print_view

_SECONDS = 30.0
_INTERVAL = 15.0
_LOGIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,29}")
_ETC = Path("/etc/ase-exporter")
# What Prometheus may have beside it; a job for one that is not there would fail.
_OPTIONAL = {"Alertmanager": Address("127.0.0.1", 9093, 0), "node_exporter": Address("127.0.0.1", 9100, 0)}


def setup(
    targets: list[str] | None = None,
    user: str | None = None,
    password: bool = False,
    password_file: Path | None = None,
    interval: float | None = None,
    output: Path | None = None,
) -> None:
    names = targets or [os.environ.get("DSQUERY") or _ask("Server, or HOST:PORT")]
    own = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "ase-exporter"
    folder = (output or (own if os.geteuid() else _ETC)).absolute()
    file = folder / "exporter.yaml"
    known = config.load(file) if os.path.lexists(file) else Config()
    groups: list[_Files] = []
    added: list[tuple[Target, str, Path]] = []
    checked: dict[str, TargetReport | None] = {}
    for name in names:
        server, is_known = _server(known, name)
        if server.name in checked:
            continue
        secret = password_file.absolute() if password_file else folder / f"{server.name}.password"
        if is_known:
            auth = known.auth[server.auth]
            if (user and user != auth.user) or (password_file and secret != auth.password_file) or password:
                raise UserError(f"{file}: target {server.name} has another login or password file")
        else:
            login = user or os.environ.get("ASE_USER") or "ase_exporter"
            auth = Auth(
                user=login, password=_password(login, secret, new=password, own=password_file is None)
            )
            added.append((server, login, secret))
            if password_file is None:
                groups.append(_Files(folder, {secret.name: f"{auth.password}\n"}, private=True))
        checked[server.name] = _check(server, auth)
    if None in checked.values():
        print("Then run setup again.")
        raise typer.Exit(1)
    addition = _addition(added) if added else ""
    if addition and not os.path.lexists(file):
        groups.append(_Files(folder, {file.name: f"# From `ase-exporter setup`.\n{addition}"}))
        addition = ""
    absent = [name for name, address in _OPTIONAL.items() if not address.answers()]
    groups += _generated(folder, interval or _kept_interval(folder), absent)
    for group in groups:
        group.examine()
    # Prometheus and Grafana have other users.
    os.umask(0o022)
    # All of them before anything is printed: a reader of a pipe may have left.
    print("\n".join([group.write() for group in groups]))
    option = "" if config.find_file() == file else f" --config.file={file}"
    if addition:
        print(f"\nAdd these lines to `targets` and `auth` of {file}, which is never changed here:\n")
        print(f"{addition}\nand then:")
    else:
        print("\nNext:")
    # That of Debian has another directory, which only its service may write.
    prometheus = f"prometheus --config.file={folder}/prometheus.yml --storage.tsdb.path=data"
    print(f"  ase-exporter serve{option}\n  {prometheus}\n", flush=True)
    if absent:
        print(
            f"No {' and no '.join(absent)} here: to add one, start it, remove prometheus.yml, run setup again.\n"
        )
    if not addition:
        from ase_exporter.commands.top import top

        # What cannot be judged is no fault of the setup, and said above.
        with suppress(typer.Exit):
            top(config_file=file, target=next(iter(checked)), once=True)
    if addition or not all(report and report.is_good for report in checked.values()):
        raise typer.Exit(1)


def _server(known: Config, name: str) -> tuple[Target, bool]:
    """The server of that name, and whether the configuration has it: by that name, or by its address."""
    for each in known.targets:
        if each.name == name:
            return each, True
    server = named_target(Config(), name)
    for each in known.targets:
        if (each.host, each.port) == (server.host, server.port):
            return each, True
    return server, False


def _check(server: Target, auth: Auth) -> TargetReport | None:
    """What `check` finds, printed; or None, with the SQL for the login, if the server refuses it. Raises UserError."""
    try:
        off_main_thread(lambda: _open(server, auth)).close()
    except DatabaseError as error:
        if error.kind not in ("login_failed", "login_suspended"):
            raise UserError(f"target {server.name}: {error}") from error
        text = str(error).rstrip(".")
        if not _LOGIN_NAME.fullmatch(auth.user):
            raise UserError(
                f"-U {auth.user}: {text}; expected letters, digits and _ for a new login"
            ) from error
        print(f"{server.name}: {text}. Nothing was written. An administrator creates the login with:\n")
        print(shipped_files("sql")["create_login.sql"].replace("ase_exporter", auth.user))
        return None
    configuration = Config(targets=(server,), auth={server.auth: auth})
    checking = TargetCheck(configuration, server, load_catalogue()[0], everything=False, timeout=_SECONDS)
    report = off_main_thread(checking.report)
    print_view(check_view(report))
    print()
    return report


def _open(target: Target, auth: Auth) -> Connection:
    return Login(Endpoint.of(target), auth, Connection.open).open(time.monotonic() + _SECONDS)


def _ask(question: str) -> str:
    if not sys.stdin.isatty():
        raise UserError(f"setup: {question}: expected -S SERVER, since there is no terminal to ask at")
    return str(typer.prompt(question)).strip()


def _password(user: str, secret: Path, *, new: bool, own: bool) -> str:
    """The password: that of the file if there is one, of the environment, or one that is typed."""
    if not new and (os.path.exists(secret) or not own):  # noqa: PTH110  # no error where it may not be looked for
        return Auth(user=user, password_file=secret).read_password()
    given = None if new else config.environment_login()
    if given and given.user == user:
        password = given.read_password()
    else:
        password = ask_password(user, "--login-password-file")
    if not password:
        raise UserError(f"-U {user}: expected a password, found an empty one")
    return password


def _addition(added: list[tuple[Target, str, Path]]) -> str:
    """The lines of a configuration for servers, each with its login and the file of its password."""
    targets = [
        {"name": each.name, "host": each.host, "port": each.port, "auth": each.name} for each, *_ in added
    ]
    logins = {each.name: {"user": user, "password_file": str(secret)} for each, user, secret in added}
    both = {"targets": targets, "auth": logins}
    return yaml.safe_dump(both, sort_keys=False, default_flow_style=None, width=1000)


def _kept_interval(folder: Path) -> float:
    """The scrape interval that an earlier run, or an edit since, has set; else the usual one."""
    try:
        found = yaml.safe_load(read_text(folder / "prometheus.yml"))["global"]["scrape_interval"]
        return parse_duration(str(found))
    except (OSError, yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError):
        return _INTERVAL


def _generated(folder: Path, interval: float, absent: list[str]) -> "list[_Files]":
    """Rules, dashboards and Prometheus's configuration without what is absent, for a scrape interval in seconds.

    Raises UserError.
    """
    parts = (assets.directory("prometheus") / "prometheus.yml").read_text(encoding="utf-8").split("\n\n")
    left_out = [f"{_OPTIONAL[name].host}:{_OPTIONAL[name].port}" for name in absent]
    scraping = (
        "\n\n".join(part for part in parts if not any(each in part for each in left_out)).rstrip() + "\n"
    )
    scraping = scraping.replace("../../alerts/rules/", "rules/").replace("15s", f"{interval:g}s")
    return [
        _Files(folder / "rules", rule_texts(interval)),
        _Files(folder / "dashboards", shipped_files("dashboards")),
        _Files(folder, {"prometheus.yml": scraping}),
    ]


@dataclass
class _Files:
    """Files of a directory, by name, that belong together. private: only their owner may read them, and a service's
    group."""

    directory: Path
    texts: dict[str, str]
    private: bool = False
    _missing: list[str] = field(default_factory=list)
    _different: list[str] = field(default_factory=list)

    def examine(self) -> None:
        """Find out which are there. Raises UserError if one is no file or could not be written."""
        for name, text in self.texts.items():
            path = self.directory / name
            try:
                if read_text(path) != text:
                    self._different.append(name)
            except FileNotFoundError:
                if os.path.lexists(path):
                    raise self._error(
                        name, "it is a link to nothing: remove it, or make what it links to"
                    ) from None
                self._missing.append(name)
            except OSError as error:
                raise self._error(name, error.strerror) from error
        if self._different and self.private:
            raise self._error(self._different[0], "it has another password: change it there, or leave out -P")
        if self._missing:
            above = next(path for path in (self.directory, *self.directory.parents) if os.path.lexists(path))
            if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
                raise self._error(self._missing[0], f"{above} is no directory that may be written to")

    def write(self) -> str:
        """Write those that are missing, unless another one differs; returns what to say of it. Raises UserError."""
        if not self._different:
            for name in self._missing:
                try:
                    with writing():
                        self._create(self.directory / name, self.texts[name])
                except OSError as error:
                    raise self._error(name, error.strerror) from error
        shown = self.directory if len(self.texts) > 1 else self.directory / next(iter(self.texts))
        if self._different:
            which = f" ({len(self._different)} of {len(self.texts)} files)" if len(self.texts) > 1 else ""
            return f"{shown}: left as it is, which is not what setup writes{which}: remove it to get that"
        return f"{shown}: {'written' if self._missing else 'unchanged'}"

    def _create(self, path: Path, text: str) -> None:
        """Write a new file whole or, on a full disk say, not at all. Raises OSError."""
        for directory in reversed([each for each in path.parents if not each.exists()]):
            directory.mkdir(0o755)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600 if self.private else 0o644)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as new:
                if self.private:
                    with suppress(KeyError, PermissionError):
                        os.fchown(descriptor, -1, grp.getgrnam("ase-exporter").gr_gid)
                        os.fchmod(descriptor, 0o640)
                new.write(text)
        except OSError:
            path.unlink()
            raise

    def _error(self, name: str, problem: str | None) -> UserError:
        return UserError(f"--output {self.directory}: {name}: {problem}")
