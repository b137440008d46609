"""The configuration: one YAML file, or environment variables for a single target.

Unknown keys are rejected; errors name file, line and key (see `yaml_files`).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le

from ase_exporter.config.changes import ChangesConfig, http_address
from ase_exporter.config.dumps import Dumps
from ase_exporter.config.fields import Seconds, Share, Strict, Validator, is_port, matching
from ase_exporter.config.host import HostConfig
from ase_exporter.config.interfaces import find_server
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.errors import UserError
from ase_exporter.regular_files import decoded, read_bytes

DEFAULT_LISTEN_ADDRESS = "127.0.0.1:10150"
DEFAULT_PORT = 5000
# Characters that are read of a password file.
MAX_PASSWORD_FILE = 64 * 1024

_target_name = matching(
    r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}",
    "1 to 128 ASCII letters, digits and _ . : -, of which the first is a letter, a digit or _",
)
_HOST = re.compile(r"[\w.:%-]+")
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("expected a host name or an address")
    # An IPv6 address has at least two colons.
    if text.count(":") == 1:
        raise ValueError(
            "expected a host name or an address without a port; the port has a setting of its own"
            " (ASE_PORT, or `port` in the file)"
        )
    return text


def _read(password_file: Path) -> str:
    """The password in a file. Raises UserError."""
    # A path that is not absolute may be a password in the wrong place.
    absolute = password_file.is_absolute()
    where = f"password file {password_file}" if absolute else f"password_file (relative to {Path.cwd()})"
    try:
        password = decoded(read_bytes(password_file, MAX_PASSWORD_FILE)).rstrip("\r\n")
    except OSError as error:
        raise UserError(f"{where}: {error.strerror}") from error
    if not password:
        raise UserError(f"{where}: expected a password, found nothing")
    # A try with what can be no password would bring the account closer to its lock.
    if re.search(r"[\0-\x08\n-\x1f]", password):
        raise UserError(f"{where}: expected a password on one line, and nothing else")
    return password


@dataclass(frozen=True, kw_only=True, slots=True)
class Auth(Strict):
    """A login, with exactly one source of its password, read at each login so that it may be rotated."""

    user: str
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    password_env: str | None = None

    def __post_init__(self) -> None:
        if [self.password, self.password_file, self.password_env].count(None) != 2:
            raise ValueError("expected exactly one of password, password_file, password_env")

    def read_password(self) -> str:
        """The current password. Raises UserError if its file or variable cannot be read."""
        if self.password_file is not None:
            return _read(self.password_file)
        if self.password_env is not None:
            password = os.environ.get(self.password_env)
            if password is None:
                # Not shown: it may be the password itself, from a template.
                raise UserError(f"password_env of the login {self.user}: no such environment variable is set")
            return password
        return self.password or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Module(Strict):
    """What is read of a target.

    collectors: name -> on or off, in place of the default. series_limit: maximum number of series of one target. top:
    maximum number of rows with series of their own in tables that can grow.
    """

    collectors: Mapping[str, bool] = field(default_factory=dict)
    series_limit: Annotated[int, Ge(100)] = 5000
    top: Annotated[int, Ge(1), Le(1000)] = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Target(Strict):
    """One ASE server.

    labels: for service discovery (`/targets`); they are not in the metrics. sysmon: scheduled sp_sysmon runs, if any.
    budget: the share of one engine's time that scrapes may take; by default that of `scrape`. dumps: come before those
    of all targets.
    """

    name: Annotated[str, Validator(_target_name)]
    host: Annotated[str, Validator(_host)]
    port: Annotated[int, Ge(1), Le(65535)] = DEFAULT_PORT
    auth: str = "default"
    module: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    charset: str = "UTF-8"
    encrypt_password: bool = False
    sysmon: SysmonSettings | None = None
    budget: Share | None = None
    dumps: tuple[Dumps, ...] = ()

    def __post_init__(self) -> None:
        for label in self.labels:
            if not _LABEL_NAME.fullmatch(label) or label.startswith("__"):
                raise ValueError(
                    f"labels: {label!r}: expected a label name such as team, without __ in front"
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class Scrape(Strict):
    """Limits of one scrape. Durations are in seconds.

    timeout: used if the caller sends none. min_timeout: minimum, even for a caller that sends less, so that a slow
    login can finish. max_timeout: maximum, even for a caller that sends more: while a statement hangs, other callers
    of the target wait. margin: how long before the caller's timeout a scrape ends. connect_timeout: of a login.
    recheck_interval: how often a collector that a server cannot provide is tried again. budget: the share of one
    engine's time that scrapes of a target may take; None for no limit.
    """

    timeout: Seconds = 10.0
    min_timeout: Seconds = 0.0
    max_timeout: Seconds = 30.0
    margin: Seconds = 0.5
    connect_timeout: Seconds = 5.0
    recheck_interval: Seconds = 300.0
    budget: Share | None = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionsConfig(Strict):
    """The page /sessions, and incidents.

    statement_text: whether callers who log in are shown the text of statements, without literals. incidents:
    how many moments at which something bad began are kept in the state directory; 0 for none.
    """

    statement_text: bool = False
    incidents: Annotated[int, Ge(0), Le(500)] = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogueConfig(Strict):
    """Custom metrics. directories: with catalogue files, read after the built-in catalogue."""

    directories: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Config(Strict):
    """The whole configuration.

    targets: the servers by name. auth, modules: definitions that targets refer to by name. host: if present, even
    empty, /metrics has the host's metrics. sessions: what is shown and kept of sessions. dumps: of all targets, after
    their own. exporter, prometheus: addresses that commands read, if they are not the usual ones.
    """

    targets: tuple[Target, ...] = ()
    auth: Mapping[str, Auth] = field(default_factory=dict)
    modules: Mapping[str, Module] = field(default_factory=dict)
    scrape: Scrape = field(default_factory=Scrape)
    catalogue: CatalogueConfig = field(default_factory=CatalogueConfig)
    host: HostConfig | None = None
    changes: ChangesConfig = field(default_factory=ChangesConfig)
    sessions: SessionsConfig = field(default_factory=SessionsConfig)
    dumps: tuple[Dumps, ...] = ()
    exporter: Annotated[str, Validator(http_address)] | None = None
    prometheus: Annotated[str, Validator(http_address)] | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for target in self.targets:
            if target.name in seen:
                raise ValueError(f"target {target.name} is defined twice")
            seen.add(target.name)
            self._require(f"target {target.name}", target.auth, target.module)
            if target.sysmon:
                self._require(f"target {target.name}: sysmon", target.sysmon.auth)

    def _require(self, who: str, auth: str, module: str = "default") -> None:
        if auth not in self.auth:
            # Not shown: it may be a password in the wrong place.
            which = "auth 'default'" if auth == "default" else "its auth"
            raise ValueError(f"{who}: {which} is not defined under auth")
        if module != "default" and module not in self.modules:
            raise ValueError(f"{who}: its module is not defined under modules")

    def module(self, name: str) -> Module:
        """A module by name; `default` always exists. Raises KeyError if it is not defined."""
        if name == "default" and name not in self.modules:
            return Module()
        return self.modules[name]


def load(path: Path) -> Config:
    """The configuration file. Raises UserError that names file, line and key."""
    # Imported here because the supervisor and most commands need neither pydantic nor PyYAML.
    from ase_exporter.config import yaml_files

    return yaml_files.load(path, Config)


def find_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The configuration that is used without --config.file; None if there is none, or the environment has a target."""
    if file := environment.get("ASE_EXPORTER_CONFIG"):
        return Path(file)
    own = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '')}/.config"
    files = (Path(directory) / "ase-exporter" / "exporter.yaml" for directory in (own, "/etc"))
    return None if environment.get("ASE_HOST") else next(filter(os.path.exists, files), None)


def server_target(name: str) -> tuple[Target, str]:
    """A target for HOST:PORT, or for a server of an interfaces file, and where it is there. Raises UserError."""
    where = ""
    host, colon, port = name.rpartition(":")
    if not colon:
        host, number, where = find_server(name)
    elif ":" in host and not host.startswith("["):
        raise UserError(f"-S {name}: expected brackets around an address of IPv6, such as [::1]:5000")
    elif is_port(port):
        number = int(port)
    else:
        raise UserError(f"-S {name}: expected a port from 1 to 65535 behind the colon")
    try:
        return Target(name=_named(name), host=_host(host.strip("[]")), port=number), where
    except ValueError as error:
        raise UserError(f"-S {name}: {error}") from None


def environment_login(environment: Mapping[str, str] = os.environ) -> Auth | None:
    """The login from ASE_USER, and ASE_PASSWORD_FILE or ASE_PASSWORD; None if either is missing."""
    user = environment.get("ASE_USER")
    if user and (file := environment.get("ASE_PASSWORD_FILE")):
        return Auth(user=user, password_file=Path(file))
    if user and "ASE_PASSWORD" in environment:
        return Auth(user=user, password_env="ASE_PASSWORD")
    return None


def from_environment(environment: Mapping[str, str] = os.environ) -> Config:
    """A configuration with one target from ASE_HOST and the other variables, or without targets. Raises UserError."""
    host = environment.get("ASE_HOST")
    if not host:
        return Config()
    port = environment.get("ASE_PORT", str(DEFAULT_PORT))
    if not is_port(port):
        raise UserError("environment: ASE_PORT: expected a port number from 1 to 65535")
    if not environment.get("ASE_USER"):
        raise UserError("environment: ASE_USER: expected the login to use for ASE_HOST")
    if not (auth := environment_login(environment)):
        raise UserError("environment: expected ASE_PASSWORD_FILE (or ASE_PASSWORD) for ASE_USER")
    try:
        name = _target_name(environment["ASE_NAME"]) if "ASE_NAME" in environment else _named(host)
    except ValueError as error:
        raise UserError(f"environment: ASE_NAME: {error}") from error
    try:
        target = Target(name=name, host=_host(host), port=int(port))
    except ValueError as error:
        raise UserError(f"environment: ASE_HOST: {error}") from None
    return Config(targets=(target,), auth={"default": auth})


def _named(text: str) -> str:
    return _target_name(re.sub(r"^[.:-]|[^A-Za-z0-9_.:-]", "_", text))
