"""The configuration: one YAML file, or the environment for a single target.

Every model refuses keys that it does not know; errors name file, line and key (see `yamlfile`).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from ase_exporter import yamlfile
from ase_exporter.allow import Allow, split
from ase_exporter.changes.config import ChangesConfig
from ase_exporter.compare.config import VerdictConfig
from ase_exporter.errors import UserError
from ase_exporter.host.config import HostConfig
from ase_exporter.settings import Model, Seconds, Share
from ase_exporter.sysmon.settings import SysmonSettings

DEFAULT_LISTEN_ADDRESS = "127.0.0.1:10150"
DEFAULT_PORT = 5000

_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$"
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class Auth(Model):
    """How to log in. Exactly one source of the password; it is read at each login, so it may be rotated."""

    user: str
    password: str | None = Field(default=None, repr=False)
    password_file: Path | None = None
    password_env: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [self.password is not None, self.password_file is not None, self.password_env is not None]
        if sum(given) != 1:
            raise ValueError("expected exactly one of password, password_file, password_env")
        return self

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


class Module(Model):
    """What is read of a target: collectors on or off against the defaults, and limits."""

    collectors: Mapping[str, bool] = {}
    series_limit: Annotated[int, Field(ge=100)] = 5000
    top: Annotated[int, Field(ge=1, le=1000)] = 20


class Target(Model):
    """One ASE server. labels go to service discovery (`/targets`), not into the metrics.

    sysmon: how sp_sysmon is run; left out, it is not.
    budget: the share of one engine's time that reading it may take; left out, that of `scrape`.
    close_idle_after: log out when nobody asked for so long; left out, the connection is kept.
    """

    name: Annotated[str, Field(pattern=_NAME)]
    host: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=1, le=65535)] = DEFAULT_PORT
    auth: str = "default"
    module: str = "default"
    labels: Mapping[str, str] = {}
    charset: str = "UTF-8"
    encrypt_password: bool = False
    sysmon: SysmonSettings | None = None
    budget: Share | None = None
    close_idle_after: Seconds | None = None

    @model_validator(mode="after")
    def _label_names(self) -> Self:
        for label in self.labels:
            if not _LABEL_NAME.fullmatch(label) or label.startswith("__"):
                raise ValueError(f"{label!r} is no label name")
        return self


class Scrape(Model):
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


class Catalogue(Model):
    """directories: of custom metric files, read after the built-in catalogue."""

    directories: tuple[Path, ...] = ()


class Config(Model):
    """The whole configuration. allow: which addresses /probe takes beside the names of targets.

    host: given, even empty, the machine's own metrics are served on /metrics.
    """

    targets: tuple[Target, ...] = ()
    allow: Allow = Allow()
    auth: Mapping[str, Auth] = {}
    modules: Mapping[str, Module] = {}
    scrape: Scrape = Scrape()
    catalogue: Catalogue = Catalogue()
    host: HostConfig | None = None
    changes: ChangesConfig = ChangesConfig()
    verdicts: VerdictConfig | None = None
    workers: Annotated[int, Field(ge=1, le=256)] | None = None

    @model_validator(mode="after")
    def _references(self) -> Self:
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
        return self

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
                return Target(name=address, host=host, port=port, **allowed.model_dump(exclude={"address"}))
        return None

    def module(self, name: str) -> Module:
        """A module by name; `default` exists even if the file does not define it. KeyError if unknown."""
        if name == "default" and name not in self.modules:
            return Module()
        return self.modules[name]


def load(path: Path) -> Config:
    """The configuration file; UserError says what is wrong, and where."""
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
    name = environment.get("ASE_NAME", re.sub(r"[^A-Za-z0-9_.:-]", "_", host))
    target = Target(name=name, host=host, port=int(port))
    return Config(targets=(target,), auth={"default": auth})
