"""What a deployment leaves open: one line each, with the place, what is open, and how to close it."""

import ipaddress
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ase_exporter.commands.serving import WORD, ServeOptions
from ase_exporter.config import Config, yaml_files
from ase_exporter.config.web import WebSettings
from ase_exporter.errors import UserError

_PROCESSES = Path("/proc")
_CERTIFIED = ("RequireAndVerifyClientCert",)
# Modes: others read, or the group writes; others or the group write; others replace what is in a directory.
_READ_OR_WRITE, _WRITE, _REPLACE = 0o027, 0o022, 0o002


def exposures(loaded: Config, file: Path | None, processes: Path = _PROCESSES) -> Iterator[str]:
    """What is open in a configuration, and in the exporters that run here."""
    yield from _logins(loaded, file)
    yield from _grafana(loaded)
    running = list(_running(processes))
    for options, where, is_root in running:
        if is_root:
            yield f"{where}: runs as root: run it as a user of its own (User= in the unit)"
        if options.config_file not in (None, file and file.resolve()):
            yield f"{where}: runs with {options.config_file}, which was not checked"
        try:
            yield from _served(options, where)
        except UserError as error:
            yield f"{where}: {error}"
    if not running:
        yield "no exporter of yours runs here: its options were not checked; run this as its user, or as root"


def _logins(loaded: Config, file: Path | None) -> Iterator[str]:
    secret = any(auth.password is not None for auth in loaded.auth.values())
    secret = secret or "@" in (loaded.verdicts.prometheus if loaded.verdicts else "")
    which = "the configuration, which holds a password" if secret else "the configuration"
    for path in (file, *loaded.catalogue.directories):
        yield from _readable(path, which, _READ_OR_WRITE if secret and path == file else _WRITE)
    for name, auth in loaded.auth.items():
        yield from _readable(auth.password_file, f"auth.{name}.password_file")
        if auth.user == "sa":
            yield f"auth.{name}: the login sa may do everything: use one with mon_role alone (create_login.sql)"
    for target in loaded.targets:
        if not target.encrypt_password and not _is_local(target.host):
            yield f"target {target.name}: the password crosses the network in plain text: set encrypt_password"
        if target.sysmon and loaded.auth[target.sysmon.auth].user == loaded.auth[target.auth].user:
            yield f"target {target.name}: sysmon's login, which has sa_role, scrapes as well: give it its own auth"


def _grafana(loaded: Config) -> Iterator[str]:
    if (grafana := loaded.changes.grafana) is None:
        return
    yield from _readable(grafana.token_file, "changes.grafana.token_file")
    scheme, _, rest = grafana.url.partition("://")
    host = rest.partition("/")[0]
    if scheme == "http" and not _is_local(host.rsplit(":", 1)[0] if not host.endswith("]") else host):
        yield "changes.grafana.url: the token crosses the network in plain text: use https"


def _running(processes: Path) -> Iterator[tuple[ServeOptions, str, bool]]:
    """Options of each exporter that serves, with its process, and whether that is root's."""
    for line in sorted(processes.glob("[0-9]*/cmdline")):
        try:
            words = line.read_bytes().decode(errors="replace").split("\0")
            options = ServeOptions.from_arguments(words[words.index(WORD) :])
            of_files = ("config_file", "web_config_file", "state_directory")
            given = {name: getattr(options, name) for name in of_files}
            named = {name: (line.parent / "cwd" / path).resolve() for name, path in given.items() if path}
            yield replace(options, **named), f"process {line.parent.name}", line.parent.stat().st_uid == 0
        except (OSError, ValueError, UserError):
            continue


def _served(options: ServeOptions, where: str) -> Iterator[str]:
    web = options.web_config_file
    settings = yaml_files.load(web, WebSettings) if web else WebSettings()
    yield from _readable(web, "--web.config.file", _WRITE)
    tls = settings.tls_server_config
    asks = bool(settings.basic_auth_users) or (tls is not None and tls.client_auth_type in _CERTIFIED)
    if web and tls:
        yield from _readable(tls.files(web.parent)["key_file"], "tls_server_config.key_file")
    if not _is_local(options.listen_address.rpartition(":")[0]):
        if tls is None:
            yield f"{where}: {options.listen_address} speaks plain HTTP: set tls_server_config in --web.config.file"
        if not asks:
            yield f"{where}: {options.listen_address} answers everybody: set basic_auth_users in --web.config.file"
    changing = {
        "--web.enable-lifecycle: reload the configuration": options.lifecycle,
        "--web.enable-annotations: mute alerts by announcing maintenance": options.annotations,
    }
    for option, allowed in () if asks else changing.items():
        if allowed:
            yield f"{where}: {option}, which everybody may who reaches it: set basic_auth_users"
    if options.state_directory:
        yield from _readable(options.state_directory, "--state-dir")


def _readable(path: Path | None, what: str, forbidden: int = _READ_OR_WRITE) -> Iterator[str]:
    """Whether others may read a file or a directory, write to it, or put another one in its place."""
    if path is None:
        return
    try:
        mode = path.stat().st_mode & 0o777
        folders = [(each, each.stat().st_mode) for each in path.resolve().parents]
    except OSError as error:
        yield f"{what}: {path}: {error.strerror}"
        return
    if mode & forbidden:
        closed = mode & ~forbidden if forbidden == _WRITE else 0o700 if path.is_dir() else 0o600
        yield f"{what}: {path} has mode {mode:03o}, open to others: chmod {closed:03o}"
    for folder, mode in folders:
        if mode & _REPLACE and not mode & stat.S_ISVTX:
            yield f"{what}: everybody may replace what is in {folder}: chmod o-w"


def _is_local(host: str) -> bool:
    """Whether nobody on the network reaches a host: loopback. An empty one is every address."""
    host = host.strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
