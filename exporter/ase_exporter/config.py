"""The configuration: one YAML file, or the environment for a single target.

Every part refuses keys that it does not know; errors name file, line and key (see `yamlfile`).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le, MinLen

from ase_exporter.allow import Allow, split
from ase_exporter.changes.config import ChangesConfig
from ase_exporter.checks import Check, Seconds, Share, Strict, matching
from ase_exporter.compare.config import VerdictConfig
from ase_exporter.errors import UserError
from ase_exporter.host.config import HostConfig
from ase_exporter.sysmon.settings import SysmonSettings

DEFAULT_LISTEN_ADDRESS = "127.0.0.1:10150"
DEFAULT_PORT = 5000

_target_name = matching(r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$")
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Auth(Strict):
    """How to log in. Exactly one source of the password; it is read at each login, so it may be rotated."""

    user: str
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    password_env: str | None = None

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        given = [self.password is not None, self.password_file is not None, self.password_env is not None]
        if sum(given) != 1:
            raise ValueError("expected exactly one of password, password_file, password_env")

    def read_password(self) -> str:
        """The password as it is now; UserError if its file or variable cannot be read."""
        if self.password_file is not None:
            try:
                return self.password_file.read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
                raise UserError(f"password file {self.password_file}: {reason}") from error
        if self.password_env is not None:
            try:
                return os.environ[self.password_env]
            except KeyError as error:
                raise UserError(
                    f"environment variable {self.password_env} (a password) is not set"
                ) from error
        return self.password or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Module(Strict):
    """What is read of a target: collectors on or off against the defaults, and limits."""

    collectors: Mapping[str, bool] = field(default_factory=dict)
    series_limit: Annotated[int, Ge(100)] = 5000
    top: Annotated[int, Ge(1), Le(1000)] = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Target(Strict):
    """One ASE server. labels go to service discovery (`/targets`), not into the metrics.

    sysmon: how sp_sysmon is run; left out, it is not.
    budget: the share of one engine's time that reading it may take; left out, that of `scrape`.
    close_idle_after: log out when nobody asked for so long; left out, the connection is kept.
    """

    name: Annotated[str, Check(_target_name)]
    host: Annotated[str, MinLen(1)]
    port: Annotated[int, Ge(1), Le(65535)] = DEFAULT_PORT
    auth: str = "default"
    module: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    charset: str = "UTF-8"
    encrypt_password: bool = False
    sysmon: SysmonSettings | None = None
    budget: Share | None = None
    close_idle_after: Seconds | None = None

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        for label in self.labels:
            if not _LABEL_NAME.fullmatch(label) or label.startswith("__"):
                raise ValueError(f"{label!r} is no label name")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scrape(Strict):
    """Bounds on one scrape. timeout: used when the caller names none; margin: kept free before the end.

    least: given even to a caller that waits less, so that a login can end that takes longer than a scrape.
    budget: the share of one engine's time that reading a target may take; left out, there is no bound.
    """

    timeout: Seconds = 10.0
    least: Seconds = 0.0
    margin: Seconds = 0.5
    connect_timeout: Seconds = 5.0
    recheck: Seconds = 300.0
    budget: Share | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue(Strict):
    """directories: of custom metric files, read after the built-in catalogue."""

    directories: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Config(Strict):
    """The whole configuration. allow: which addresses /probe takes beside the names of targets.

    host: given, even empty, the machine's own metrics are served on /metrics.
    """

    targets: tuple[Target, ...] = ()
    allow: Allow = field(default_factory=Allow)
    auth: Mapping[str, Auth] = field(default_factory=dict)
    modules: Mapping[str, Module] = field(default_factory=dict)
    scrape: Scrape = field(default_factory=Scrape)
    catalogue: Catalogue = field(default_factory=Catalogue)
    host: HostConfig | None = None
    changes: ChangesConfig = field(default_factory=ChangesConfig)
    verdicts: VerdictConfig | None = None
    workers: Annotated[int, Ge(1), Le(256)] | None = None

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        seen: set[str] = set()
        for target in self.targets:
            if target.name in seen:
                raise ValueError(f"target {target.name} stands twice")
            seen.add(target.name)
            self._require(f"target {target.name}", target.auth, target.module)
            if target.sysmon:
                self._require(f"target {target.name}: sysmon", target.sysmon.auth)
        for allowed in self.allow.addresses:
            self._require(f"allow: {allowed.address}", allowed.auth, allowed.module)

    def _require(self, who: str, auth: str, module: str = "default") -> None:
        if auth not in self.auth:
            raise ValueError(f"{who}: auth {auth!r} is not defined under auth")
        if module != "default" and module not in self.modules:
            raise ValueError(f"{who}: module {module!r} is not defined under modules")

    def allowed(self, address: str) -> Target | None:
        """The target at a HOST:PORT that a caller gave; None if it is no such, or not allowed."""
        address = address.lower()
        place = split(address)
        if place is None:
            return None
        for allowed in self.allow.addresses:
            if allowed.matches(address):
                host, port = place
                how = {key: value for key, value in asdict(allowed).items() if key != "address"}
                return Target(name=address, host=host, port=port, **how)
        return None

    def module(self, name: str) -> Module:
        """A module by name; `default` exists even if the file does not define it. KeyError if unknown."""
        if name == "default" and name not in self.modules:
            return Module()
        return self.modules[name]


def load(path: Path) -> Config:
    """The configuration file; UserError says what is wrong, and where."""
    # pydantic and YAML stay in the memory of whoever reads files: that is not to be `serve`, nor a worker.
    from ase_exporter import yamlfile

    return yamlfile.load(path, Config)


def from_environment(environment: Mapping[str, str] = os.environ) -> Config:
    """One target from ASE_HOST, ASE_PORT, ASE_USER, ASE_PASSWORD_FILE or ASE_PASSWORD; else none."""
    host = environment.get("ASE_HOST")
    if not host:
        return Config()
    port = environment.get("ASE_PORT", str(DEFAULT_PORT))
    if not port.isdigit() or not 1 <= int(port) <= 65535:
        raise UserError("environment: ASE_PORT: expected a port number from 1 to 65535")
    user = environment.get("ASE_USER")
    if not user:
        raise UserError("environment: ASE_USER: expected the login to use for ASE_HOST")
    if file := environment.get("ASE_PASSWORD_FILE"):
        auth = Auth(user=user, password_file=Path(file))
    elif "ASE_PASSWORD" in environment:
        auth = Auth(user=user, password_env="ASE_PASSWORD")
    else:
        raise UserError("environment: expected ASE_PASSWORD_FILE (or ASE_PASSWORD) for ASE_USER")
    try:
        name = _target_name(environment.get("ASE_NAME", re.sub(r"[^A-Za-z0-9_.:-]", "_", host)))
    except ValueError as error:
        raise UserError(f"environment: ASE_NAME: {error}") from error
    target = Target(name=name, host=host, port=int(port))
    return Config(targets=(target,), auth={"default": auth})
