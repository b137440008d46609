"""What files and logins are open to others: one line each, with the place, what is open, and how to close it."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ase_exporter.config import Config
from ase_exporter.config.web import is_loopback


def open_files_and_logins(loaded: Config, file: Path | None) -> Iterator[str]:
    """Of a configuration. file: where it is from."""
    secret = any(auth.password is not None for auth in loaded.auth.values())
    yield from _open_file(file, "the configuration", forbidden=0o027 if secret else 0o022)
    for name, auth in loaded.auth.items():
        yield from _open_file(auth.password_file, f"auth.{name}.password_file")
        if auth.user == "sa":
            yield f"auth.{name}: the login sa may do everything: use one with mon_role alone (create_login.sql)"
    plain = [each.name for each in loaded.targets if not (each.encrypt_password or is_loopback(each.host))]
    if plain:
        yield f"passwords cross the network in plain text: set encrypt_password for {', '.join(plain)}"
    for target in loaded.targets:
        if target.sysmon and loaded.auth[target.sysmon.auth].user == loaded.auth[target.auth].user:
            yield f"target {target.name}: sysmon's login, which has sa_role, scrapes as well: give it its own auth"
    if grafana := loaded.changes.grafana:
        yield from _open_file(grafana.token_file, "changes.grafana.token_file")
        if grafana.url.startswith("http:") and not is_loopback(urlsplit(grafana.url).hostname or ""):
            yield "changes.grafana.url: the token crosses the network in plain text: use https"


def _open_file(path: Path | None, what: str, forbidden: int = 0o027) -> Iterator[str]:
    """Whether others may read or write a file. forbidden: bits of its mode."""
    if path is not None and path.exists() and (mode := path.stat().st_mode & 0o777) & forbidden:
        yield f"{what}: {path} has mode {mode:03o}, open to others: chmod {mode & ~forbidden:03o}"
