"""Reading the kernel's text files."""

import os
from collections.abc import Iterator

from ase_exporter.errors import AseExporterError

# Absent, closed to us, or gone between two calls. Anything else (no descriptor left, say) is a failure.
_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError, ProcessLookupError)


class NotOfferedError(AseExporterError):
    """This kernel or container does not offer what a collector reads; the message says which file."""


def read_text(path: str) -> str | None:
    """A file's text; None where it is absent, closed to us, or its process or device is gone.

    Kernel files are read by plain system calls: a scrape reads some hundred of them, and this costs a third
    of what pathlib costs.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except _ABSENT:
        return None
    try:
        parts = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    except _ABSENT:
        return None
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace")


def read_int(path: str) -> int | None:
    """A file's one number; None where `read_text` gives None or it is no number."""
    text = read_text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def list_names(directory: str) -> list[str]:
    """The names in a directory, in no order; empty where it is absent or closed to us."""
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except _ABSENT:
        return []


def list_numbered(directory: str, prefix: str = "") -> list[int]:
    """The N of all entries named `prefix`N, ascending; empty where the directory is absent."""
    suffixes = (name.removeprefix(prefix) for name in list_names(directory) if name.startswith(prefix))
    return sorted(int(suffix) for suffix in suffixes if suffix.isdecimal())


def parse_numbers(text: str) -> Iterator[tuple[str, int]]:
    """`name value` lines as /proc/vmstat and a node's numastat have them; other lines are passed over."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isdecimal():
            yield name, int(value)


def parse_meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo, or a node's meminfo: lines in kB become bytes, the others (HugePages_*) stay counts."""
    values: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["Node"]:
            words = words[2:]
        if len(words) < 2 or not words[1].isdecimal():
            continue
        unit = 1024 if words[2:] == ["kB"] else 1
        values[words[0].rstrip(":")] = int(words[1]) * unit
    return values
