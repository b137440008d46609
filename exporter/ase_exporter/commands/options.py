"""Options that several commands share, what they select, and where the result goes."""

import getpass
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Literal, TypeVar

from ase_exporter import config
from ase_exporter.config import Auth, Config, Target
from ase_exporter.config.interfaces import UnknownServerError
from ase_exporter.errors import MissingExtraError, UserError, expected_names
from ase_exporter.regular_files import create

T = TypeVar("T")
_NO_TARGET = "`ase-exporter setup` configures servers, --config.file names a configuration"
Source = Literal["exporter", "prometheus"]
# Where both usually are, on the same machine.
USUAL: Mapping[Source, str] = {
    "exporter": f"http://{config.DEFAULT_LISTEN_ADDRESS}",
    "prometheus": "http://127.0.0.1:9090",
}


def config_path(given: Path | None) -> Path | None:
    """The file with the configuration: of --config.file or, with a line that says so, where it usually is."""
    if given is not None or (found := config.find_file()) is None:
        return given
    if os.access(found, os.R_OK) or "ASE_EXPORTER_CONFIG" in os.environ:
        print(f"ase-exporter: configuration: {found}", file=sys.stderr)
        return found
    print(f"ase-exporter: configuration: {found} is not readable, and not used", file=sys.stderr)
    return None


def load_config(file: Path | None) -> Config:
    """The configuration from a file or, without one, from where it usually is. Raises UserError."""
    path = config_path(file)
    return config.load(path) if path else config.from_environment()


def defaults(file: Path | None, *given: str | None) -> Config:
    """The configuration, which is not read if everything that it has a default for is given. Raises UserError."""
    return Config() if all(given) else load_config(file)


def source_url(what: Source, given: str | None, loaded: Config) -> str:
    """The URL of an exporter or a Prometheus: the given one, else that of the configuration, else the usual one.

    A line on standard error says which.
    """
    if not given:
        given = getattr(loaded, what) or USUAL[what]
        print(f"ase-exporter: {what}: {given}", file=sys.stderr)
    return given


def changes_url(given: str | None, loaded: Config) -> str | None:
    """The URL of an exporter that has the changes, too: the given one, or that of the configuration if it has one."""
    return source_url("exporter", given, loaded) if given or loaded.exporter else None


def recorded_server(prometheus: str | None, target: str | None, loaded: Config) -> tuple[str, str]:
    """The URL of a Prometheus, and the name of a server in it: by default the only target. Raises UserError."""
    target = target or os.environ.get("DSQUERY")
    names = [target] if target else [each.name for each in loaded.targets]
    if len(names) != 1:
        here = ", ".join(names) or f"the servers in Prometheus, by their label `instance`; {_NO_TARGET}"
        raise UserError(f"-S: expected one of {here}")
    return source_url("prometheus", prometheus, loaded), names[0]


# A login and its password before a host.
_WITH_CREDENTIALS = re.compile(r"(?:[a-z][a-z0-9+.-]*://[^?#]*|[^/\s]*:[^/\s]*)@", re.IGNORECASE | re.DOTALL)
_OF_ADDRESS = ("-S", "--target", "--server", "--url", "--prometheus")


def refuse_credentials(arguments: Sequence[str]) -> None:
    """Raises UserError, which does not repeat them, for credentials in an address, as `ps` would show them."""
    for word, following in pairwise((*arguments, "")):
        option = next((each for each in _OF_ADDRESS if word.startswith(each)), "")
        if option and any(
            map(_WITH_CREDENTIALS.match, (word.removeprefix(option).removeprefix("="), following))
        ):
            raise UserError(
                f"{option}: a login or password in an address is shown by `ps`: expected -U for a server, and the"
                " environment (ASE_EXPORTER_PROMETHEUS, ASE_EXPORTER_URL) or --user for a URL"
            )


def refuse_password(arguments: Sequence[str]) -> None:
    """Raises UserError if a command line has a password, as `isql -P` takes it: `ps` would show it to everybody."""
    for word, following in zip_longest(arguments, arguments[1:], fillvalue="-"):
        if word.startswith("-P") and (word != "-P" or not following.startswith("-")):
            raise UserError(
                "-P takes no password, because `ps` would show it: expected -P alone, which asks for it,"
                " ASE_PASSWORD_FILE or ASE_PASSWORD"
            )


def choose_target(
    loaded: Config, name: str | None, user: str | None = None, ask: bool = False
) -> tuple[Config, Target]:
    """Choose one target, as `choose_targets` does. Raises UserError also if there are several."""
    loaded, chosen = choose_targets(loaded, [name] if name else [], user, ask)
    if len(chosen) > 1:
        raise UserError(f"-S: expected one of {', '.join(target.name for target in loaded.targets)}")
    return loaded, chosen[0]


def end_if_stuck() -> None:
    """End the process from now on with one line and exit code 2 where the driver does not come back from a call."""
    from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG

    def end() -> None:
        print("ase-exporter: the driver does not come back: the server's answer is damaged", file=sys.stderr)
        os._exit(2)

    SYSTEM_WATCHDOG.give_up = end


def choose_targets(
    loaded: Config, names: Iterable[str], user: str | None = None, ask: bool = False
) -> tuple[Config, list[Target]]:
    """The targets of those names or, without names, all of them; and the configuration with them and their logins.

    A name may be that of a server outside of the configuration. user, ask: of -U and -P. Raises UserError.
    """
    default = os.environ.get("DSQUERY")
    wanted = list(dict.fromkeys(names)) or ([default] if default and not loaded.targets else [])
    chosen = [named_target(loaded, name) for name in wanted] or list(loaded.targets)
    if not chosen:
        raise UserError(
            f"no target: {_NO_TARGET}, or give -S SERVER and -U LOGIN, or set ASE_HOST, ASE_USER and ASE_PASSWORD_FILE"
        )
    auths = dict(loaded.auth)
    targets = []
    for target in chosen:
        known = loaded.auth.get(target.auth)
        if not (login := user or (known.user if known else os.environ.get("ASE_USER"))):
            raise UserError(f"-U: expected the login to use for {target.name}")
        if known and not ask and login == known.user:
            targets.append(target)
            continue
        auth = f"-U {login}"
        if auth not in auths:
            given = None if ask else config.environment_login()
            if given is None or given.user != login:
                given = Auth(user=login, password=ask_password(login))
            auths[auth] = given
        targets.append(replace(target, auth=auth))
    named = {target.name for target in targets}
    others = (target for target in loaded.targets if target.name not in named)
    return replace(loaded, targets=(*targets, *others), auth=auths), targets


def ask_password(user: str, instead: str = "") -> str:
    """A password typed at the terminal, which does not show it. Raises UserError without a terminal.

    instead: how else it can be given, if the environment is not the only way.
    """
    try:
        with warnings.catch_warnings():
            # Without a terminal, getpass would read standard input and show what is typed there.
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(f"Password of {user}: ")
    except (getpass.GetPassWarning, EOFError):
        expected = instead or f"ASE_USER={user} with ASE_PASSWORD_FILE"
        raise UserError(f"-U {user}: no terminal to ask for the password: expected {expected}") from None


def named_target(loaded: Config, name: str) -> Target:
    """The target of that name, or a server outside of the configuration. Raises UserError."""
    for candidate in loaded.targets:
        if candidate.name == name:
            return candidate
    try:
        target, where = config.server_target(name)
    except UnknownServerError:
        if not loaded.targets:
            raise
        known = expected_names(name, [each.name for each in loaded.targets])
        raise UserError(f"-S {name}: no such target in the configuration; {known}") from None
    if where:
        print(f"ase-exporter: {name}: {target.host}:{target.port} ({where})", file=sys.stderr)
    return target


def off_main_thread(work: Callable[[], T]) -> T:
    """Run it in a thread of its own, so that Ctrl-C works while the driver blocks."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def tell(text: str) -> None:
    """Say at a terminal what takes a while."""
    if sys.stderr.isatty():
        print(f"ase-exporter: {text}", file=sys.stderr)


def require(module: str, extra: str, what: str, instead: str = "") -> None:
    """Raises MissingExtraError, with `what` and `instead`, if the module of an extra is not installed."""
    try:
        import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(what, extra, instead) from None


def require_output(path: Path | None) -> None:
    """Raises UserError for a file that --output names in vain, before the work whose result would be lost."""
    if path and (path.is_dir() or not path.absolute().parent.is_dir()):
        write_output(path, "")


def write_output(path: Path, data: str | bytes) -> None:
    """Write the file that --output names. Raises UserError if that is not possible."""
    try:
        with create(path) as file:
            file.write(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise UserError(f"--output {path}: {error.strerror}") from error
