"""`ase-exporter setup`: from an ASE to a configuration that works, and the files for Prometheus and Grafana."""

import grp
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import typer
import yaml

from ase_exporter import assets, config
from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.ase.login import Login
from ase_exporter.catalogue import load_catalogue
from ase_exporter.checks.check_output import print_check
from ase_exporter.checks.target_check import TargetCheck, TargetReport
from ase_exporter.commands.assets import rule_texts, shipped_files
from ase_exporter.commands.options import ask_password, named_target, off_main_thread
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.config import Auth, Config, Target, yaml_files
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_text
from ase_exporter.untrusted.redaction import remember

_SECONDS = 30.0
_LOGIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,29}")
_ETC = Path("/etc/ase-exporter")


def setup(
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    password_file: Path | None = None,
    admin: str | None = None,
    admin_password_file: Path | None = None,
    yes: bool = False,
    interval: float = 15.0,
    prometheus: str = "",
    output: Path | None = None,
) -> None:
    name = target or os.environ.get("DSQUERY") or _ask("Server, or HOST:PORT")
    server = named_target(Config(), name)
    user = user or os.environ.get("ASE_USER") or "ase_exporter"
    folder = (output or _usual_directory()).absolute()
    secret = password_file.absolute() if password_file else folder / f"{server.name}.password"
    auth = Auth(user=user, password=_password(user, secret, new=password, own=password_file is None))
    file = folder / "exporter.yaml"
    configuration = _with_prometheus(file, _configuration(file, server, user, secret), prometheus)
    administrator = _Administrator(server, admin, admin_password_file, yes)
    report = _prepare(server, auth, administrator)
    if password_file is None:
        _write(folder, {secret.name: f"{auth.password}\n"}, private=True)
    _write(folder, {file.name: configuration})
    _write(folder / "rules", rule_texts(interval))
    _write(folder / "dashboards", shipped_files("dashboards"))
    scraping = (assets.directory("prometheus") / "prometheus.yml").read_text(encoding="utf-8")
    scraping = scraping.replace("../../alerts/rules/", "rules/").replace("15s", f"{interval:g}s")
    _write(folder, {"prometheus.yml": scraping})
    serve = "ase-exporter serve" + ("" if config.find_file() == file else f" --config.file={file}")
    if report is None:
        print(
            "\nAn administrator runs the SQL above, with the password in place of CHANGE_ME. Then run setup again."
        )
        raise typer.Exit(1)
    print(f"\nNext:\n  {serve}\n  prometheus --config.file={folder}/prometheus.yml\n", flush=True)
    from ase_exporter.commands.top import top

    top(config_file=file, targets=[server.name], once=True)
    if not report.is_good:
        raise typer.Exit(1)


@dataclass
class _Administrator:
    """Who may run SQL on the server: the login of --admin, or of an answer at the terminal."""

    target: Target
    name: str | None
    password_file: Path | None
    yes: bool
    auth: Auth | None = None

    def run(self, batches: Sequence[str], password: str = "") -> bool:
        """Print SQL and, if that is wanted, run it with a password for CHANGE_ME. False if it was not run."""
        print("", *(f"{batch}\ngo" for batch in batches), sep="\n", flush=True)
        if self.name is None and sys.stdin.isatty():
            self.name = _ask("Login that runs this now, such as sa (- for none)").strip("-")
        if not self.name or not (self.yes or (sys.stdin.isatty() and typer.confirm("Run it now?"))):
            return False
        if self.auth is None and self.password_file:
            self.auth = Auth(user=self.name, password_file=self.password_file)
        auth = self.auth = self.auth or Auth(
            user=self.name, password=ask_password(self.name, "--admin-password-file")
        )
        # Not by sql_literal, whose error would show it. A message may repeat it as it is in the statement.
        quoted = password.replace("'", "''")
        remember(quoted)
        off_main_thread(lambda: self._run([batch.replace("CHANGE_ME", quoted) for batch in batches], auth))
        return True

    def _run(self, batches: Sequence[str], auth: Auth) -> None:
        try:
            opened = _open(self.target, auth)
        except DatabaseError as error:
            raise UserError(f"--admin {auth.user}: {error}") from error
        with closing(opened) as connection:
            for batch in batches:
                try:
                    connection.query(batch, time.monotonic() + _SECONDS)
                except DatabaseError as error:
                    print(f"ase-exporter: {error}", file=sys.stderr)


def _prepare(server: Target, auth: Auth, administrator: _Administrator) -> TargetReport | None:
    """What `check` finds, after the SQL was run or declined; None if there is no such login yet. Raises UserError."""
    try:
        off_main_thread(lambda: _open(server, auth)).close()
    except DatabaseError as error:
        if error.kind != "login_failed":
            raise UserError(f"target {server.name}: {error}") from error
        if not _LOGIN_NAME.fullmatch(auth.user):
            raise UserError(
                f"-U {auth.user}: {error}; expected letters, digits and _ for a new login"
            ) from error
        print(f"{server.name}: {error}. This creates the login:")
        script = shipped_files("sql")["create_login.sql"].replace("ase_exporter", auth.user)
        batches = [batch.strip() for batch in re.split(r"(?m)^(?:go *|--.*)$", script) if batch.strip()]
        if not administrator.run(batches, auth.password or ""):
            return None
    report = _check(server, auth)
    missing = {remedy: gap.cause for gap in report.gaps for remedy in gap.remedies}
    if missing:
        print(f"{server.name}: this lets the login read everything:")
        if administrator.run([f"-- {cause}\n{remedy}" for remedy, cause in missing.items()]):
            report = _check(server, auth)
    print_check(report)
    return report


def _check(server: Target, auth: Auth) -> TargetReport:
    configuration = Config(targets=(server,), auth={server.auth: auth})
    checking = TargetCheck(configuration, server, load_catalogue()[0], everything=False, timeout=_SECONDS)
    return off_main_thread(checking.report)


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


def _usual_directory() -> Path:
    if os.geteuid() == 0:
        return _ETC
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "ase-exporter"


def _configuration(file: Path, target: Target, user: str, secret: Path) -> str:
    """The text of exporter.yaml with the server in it. Raises UserError if it has another one of that name."""
    settings = {"name": target.name, "host": target.host, "port": target.port, "auth": target.name}
    login = {target.name: {"user": user, "password_file": str(secret)}}
    new = {"targets:\n": _yaml([settings]), "auth:\n": _yaml(login)}
    try:
        text = read_text(file)
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from error
    if text in ("", shipped_files("config")["exporter.yaml"]):
        return "# From `ase-exporter setup`.\n" + "".join(key + lines for key, lines in new.items())
    known = config.load(file)
    for each in known.targets:
        if each.name == target.name:
            auth = known.auth[each.auth]
            if (each.host, each.port) == (target.host, target.port) and auth == Auth(
                user=user, password_file=secret
            ):
                return text
            raise UserError(f"{file}: target {each.name} has another address, login or password file")
    text = f"\n{text}"
    for key, lines in new.items():
        text = text.replace(f"\n{key}", f"\n{key}{lines}", 1)
    with suppress(UserError):
        if any(each.name == target.name for each in yaml_files.parse(text, Config, str(file)).targets):
            return text[1:]
    raise UserError(f"{file}: expected lists below `targets:` and `auth:`, to which to add {new}")


def _with_prometheus(file: Path, text: str, url: str) -> str:
    """The text of exporter.yaml with the Prometheus of an option or an answer."""
    if known := yaml_files.parse(text, Config, str(file)).verdicts:
        if url and url != known.prometheus:
            raise UserError(f"{file}: verdicts has another Prometheus than --prometheus")
        return text
    if not url and sys.stdin.isatty():
        url = _ask("URL of Prometheus, for findings on the first page (- for none)").strip("-")
    if not url:
        return text
    if "@" in url:
        raise UserError(f"--prometheus: expected a URL without a password, which all may read in {file}")
    Prometheus(url).close()  # a bad URL is an error here, a server that is down is not
    return text + yaml.safe_dump({"verdicts": {"prometheus": url}}, default_flow_style=None)


def _yaml(value: object) -> str:
    lines = yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=1000).splitlines()
    return "".join(f"  {line}\n" for line in lines)


def _write(directory: Path, files: Mapping[str, str], *, private: bool = False) -> None:
    """Write files that differ, and say so. private: only their owner may read them, and a service's group."""
    changed = 0
    for name, text in files.items():
        try:
            changed += _replace(directory / name, text, private)
        except OSError as error:
            raise UserError(f"--output {directory}: {name}: {error.strerror}") from error
    many = f" ({changed} of {len(files)} files)" if len(files) > 1 else f"/{next(iter(files))}"
    print(f"{directory}{many}: {'written' if changed else 'unchanged'}")


def _replace(path: Path, text: str, private: bool) -> bool:
    """Give a file this text, whole or, on a full disk say, not at all. Returns False if it has it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # What a link leads to is replaced, and the link stays.
    path = path.resolve()
    old = path.stat() if path.exists() else None
    if old and read_text(path) == text and not (private and old.st_mode & 0o007):
        return False
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    new = Path(name)
    try:
        new.write_text(text, encoding="utf-8")
        with suppress(KeyError, PermissionError):
            if private:
                os.chown(new, -1, grp.getgrnam("ase-exporter").gr_gid)
                new.chmod(0o640)
            elif old:
                os.chown(new, old.st_uid, old.st_gid)
        if not private:
            new.chmod(stat.S_IMODE(old.st_mode) if old else 0o644)
        new.replace(path)
    except OSError:
        new.unlink()
        raise
    return True
