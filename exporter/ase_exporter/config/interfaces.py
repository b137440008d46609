"""Servers by the names that ASE's own programs know: from interfaces, sql.ini or freetds.conf."""

import io
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ase_exporter.config.fields import is_port
from ase_exporter.errors import UserError, near_name
from ase_exporter.regular_files import decoded, read_bytes

_CONNECT_SECONDS = 2.0
# An address of the Transport Layer Interface: the family IPv4 in either byte order, port, host.
_TLI = re.compile(r"(?:\\x|0x)?(?:0002|0200)([0-9a-f]{4})([0-9a-f]{8})(?:[0-9a-f]{2})*", re.IGNORECASE)
# The first word of a line without `=`: the name of an entry or of a section.
_NAME = re.compile(r"^\[?([\w.-]++)(?![^\n]*=)", re.MULTILINE)


class UnknownServerError(UserError):
    """No file has the server, and all files could be read."""


class Address(NamedTuple):
    """What a client may connect to. line: where it is in the file. ssl: the entry asks for TLS."""

    host: str
    port: int
    line: int
    ssl: bool = False

    def answers(self) -> bool:
        """Whether a connection can be made."""
        try:
            socket.create_connection((self.host, self.port), _CONNECT_SECONDS).close()
        except OSError:
            return False
        return True


def find_server(
    name: str,
    environment: Mapping[str, str] = os.environ,
    answers: Callable[[Address], bool] = Address.answers,
) -> tuple[str, int, str]:
    """Host and port of a server, and where they are: in the first file that has it.

    Of several query lines, the first that answers is taken, as Open Client does; those that ask for TLS, which the
    exporter has not, come last. Raises UserError if no file has it, or its entry cannot be used.
    """
    read, unread, names = [], [], []
    for file in interfaces_files(environment):
        try:
            text = decoded(read_bytes(file))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unread.append(f"{file} cannot be read: {error.strerror}")
            continue
        read.append(str(file))
        names += _NAME.findall(text)
        try:
            addresses = parse_interfaces(text, name)
        except ValueError as error:
            raise UserError(f"{file}: {error}") from None
        if addresses:
            *first, last = sorted(addresses, key=lambda each: each.ssl)
            found = next((each for each in first if answers(each)), last)
            ssl = ", which asks for ssl: the exporter logs in without TLS" if found.ssl else ""
            return found.host, found.port, f"{file}, line {found.line}{ssl}"
    where = f"it is not in {', '.join(read)}" if read else "there is no interfaces file ($SYBASE is not set)"
    where = "; ".join([*unread, where if read or not unread else "no other file has it"])
    unknown = UserError if unread else UnknownServerError
    raise unknown(f"-S {name}: {where}; {near_name(name, names)}expected the name of a server, or HOST:PORT")


def interfaces_files(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where servers may be listed, in the order in which the files are searched."""
    home = Path(environment.get("HOME") or "/nonexistent")
    if sybase := environment.get("SYBASE"):
        yield from (Path(sybase) / "interfaces", Path(sybase) / "ini" / "sql.ini")
    yield home / ".interfaces"
    if configured := environment.get("FREETDSCONF"):
        yield Path(configured)
    yield from (home / ".freetds.conf", Path("/etc/freetds/freetds.conf"), Path("/etc/freetds.conf"))


def parse_interfaces(text: str, name: str) -> list[Address] | None:
    """The addresses of a server in a file of any of the three formats; None if it has none.

    Raises ValueError, with the line, for an entry that names no address. A file with sections in brackets is sql.ini or
    freetds.conf; their names are found in any case, as FreeTDS and Open Client for Windows do.
    """
    # Unlike splitlines, which ends lines within comments: at the byte that is an ellipsis on Windows, for example.
    numbered = enumerate(io.StringIO(text, newline=None), 1)
    lines = [(number, line) for number, line in numbered if line.strip()[:1] not in "#;"]
    if any(line.lstrip().startswith("[") for _, line in lines):
        return _of_section(lines, name)
    return _of_entry(lines, name)


def _of_entry(lines: list[tuple[int, str]], name: str) -> list[Address] | None:
    """interfaces: a name at the start of a line, and `query API PROTOCOL HOST PORT FILTER` lines below it."""
    here, start, queries = False, 0, []
    for number, line in lines:
        words = line.split()
        if not line[0].isspace():
            here = words[0] == name
            start = start or (number if here else 0)
        elif here and words[0].lower() == "query":
            queries.append((number, _of_query(words[1:])))
    return _addresses(name, start, queries) if start else None


def _of_query(words: list[str]) -> list[str]:
    """Host, port and filters of `tcp ether HOST PORT FILTER` or `tli tcp DEVICE ADDRESS FILTER`; else nothing."""
    if words[:1] == ["tli"] and (match := _TLI.fullmatch(words[3] if len(words) > 3 else "")):
        return [socket.inet_ntoa(bytes.fromhex(match[2])), str(int(match[1], 16)), *words[4:]]
    return words[2:] if words[:1] in (["tcp"], ["tcp6"]) else []


def _of_section(lines: list[tuple[int, str]], name: str) -> list[Address] | None:
    """sql.ini and freetds.conf: `query=NETWORK,HOST,PORT,FILTER` lines, or a host and a port; the last ones count.

    What freetds.conf has for all servers is in its section `global`.
    """
    wanted = " ".join(name.split()).lower()
    here, start, queries = "", 0, []
    found: dict[str, dict[str, tuple[int, str]]] = {"global": {}, wanted: {}}
    for number, line in lines:
        option, _, value = line.partition("=")
        option = " ".join(option.split()).lower()
        if option.startswith("["):
            here = option[1:].partition("]")[0].strip()
            start = start or (number if here == wanted else 0)
        elif here == wanted and option == "query":
            queries.append((number, [word.strip() for word in value.split(",")][1:]))
        elif here in found:
            found[here][option] = number, re.split("[;#]", value)[0].strip()
    if not start:
        return None
    options = found["global"] | found[wanted]
    if "instance" in options:
        raise ValueError(
            f"line {options['instance'][0]}: {name}: an instance is of Microsoft SQL Server; expected a port"
        )
    if not queries and ("master" not in options or "host" in options):
        number, host = options.get("host", (start, ""))
        queries.append((number, [host, options.get("port", (0, ""))[1]]))
    return _addresses(name, start, queries)


def _addresses(name: str, start: int, queries: list[tuple[int, list[str]]]) -> list[Address]:
    """The addresses of query lines, given as words: of those that have one, if any has."""
    if not queries:
        raise ValueError(f"line {start}: {name}: expected a query line: clients do not use master lines")
    found = [
        Address(words[0], int(words[1]), number, any(each.lower().startswith("ssl") for each in words[2:]))
        for number, words in queries
        if len(words) > 1 and words[0] and is_port(words[1])
    ]
    if not found:
        expected = "expected a host and a port from 1 to 65535, or a TLI address of IPv4"
        raise ValueError(f"line {queries[0][0]}: {name}: {expected}")
    return found
