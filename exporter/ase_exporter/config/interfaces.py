"""Servers by the names that ASE's own programs know: from interfaces, sql.ini or freetds.conf."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ase_exporter.config.fields import is_port
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_text

_FIELDS = re.compile(r"[\s=,]+")


def find_server(name: str, environment: Mapping[str, str] = os.environ) -> tuple[str, int, Path]:
    """Host and port of a server, and the file, the first that has it. Raises UserError if none has."""
    read = []
    for file in interfaces_files(environment):
        try:
            text = read_text(file)
        except OSError:
            continue
        read.append(str(file))
        if (found := parse_interfaces(text, name)) is None:
            continue
        host, port = found
        if not is_port(port):
            raise UserError(f"{file}: {name}: expected a host and a port from 1 to 65535")
        return host, int(port), file
    where = f"it is not in {', '.join(read)}" if read else "there is no interfaces file ($SYBASE is not set)"
    raise UserError(f"-S {name}: {where}; expected the name of a server, or HOST:PORT")


def interfaces_files(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where servers may be listed, in the order in which the files are searched."""
    home = Path(environment.get("HOME") or "/nonexistent")
    if sybase := environment.get("SYBASE"):
        yield from (Path(sybase) / "interfaces", Path(sybase) / "ini" / "sql.ini")
    yield home / ".interfaces"
    if configured := environment.get("FREETDSCONF"):
        yield Path(configured)
    yield from (home / ".freetds.conf", Path("/etc/freetds/freetds.conf"), Path("/etc/freetds.conf"))


def parse_interfaces(text: str, name: str) -> tuple[str, str] | None:
    """Host and port of a server in a file of any of the three formats, as they are there; None if it has none.

    A name in brackets is found in any case, as FreeTDS and Open Client for Windows do.
    """
    here = False
    host = port = ""
    for line in text.splitlines():
        words = [word for word in _FIELDS.split(line) if word]
        if not words or line.lstrip()[0] in "#;":
            continue
        if line.startswith("["):
            here = line.strip().strip("[]").strip().lower() == name.lower()
        elif not line[0].isspace() and "=" not in line:
            here = words[0] == name
        elif here:
            match [words[0].lower(), *words[1:]]:
                case ["host", found]:
                    host = found
                case ["port", found]:
                    port = found
                case ["query", _, found, number, *_] if "=" in line:
                    return found, number
                case ["query", _, _, found, number, *_]:
                    return found, number
                case ["query", *_]:
                    return "", ""
    return (host, port) if host else None
