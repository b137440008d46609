"""Reads kernel text files under /proc and /sys; parsers of formats that several collectors share."""

import os
from collections.abc import Iterator

from ase_exporter.errors import AseExporterError

# Absent, not permitted, or removed between two calls. Any other error (such as EMFILE) is a failure.
_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError, ProcessLookupError)


class NotOfferedError(AseExporterError):
    """This kernel or container lacks what a collector reads; the message names the file."""


def read_kernel_text(path: str) -> str | None:
    """Return a file's text; None if it is absent or not permitted, or its process or device is gone.

    Uses plain system calls: a scrape reads hundreds of files, and this takes a third of pathlib's time.
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
    """Return the integer that a file holds; None if `read_kernel_text` returns None or the text is no integer."""
    text = read_kernel_text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def list_names(directory: str) -> list[str]:
    """Return the names in a directory, unordered; empty if it is absent or not permitted."""
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except _ABSENT:
        return []


def list_numbered(directory: str, prefix: str = "") -> list[int]:
    """Return N of all entries named `prefix`N, ascending; empty if the directory is absent."""
    suffixes = (name.removeprefix(prefix) for name in list_names(directory) if name.startswith(prefix))
    return sorted(int(suffix) for suffix in suffixes if suffix.isdecimal())


def parse_numbers(text: str) -> Iterator[tuple[str, int]]:
    """Parse `name value` lines (/proc/vmstat, a node's numastat); other lines are skipped."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isdecimal():
            yield name, int(value)


def parse_sizes(text: str) -> dict[str, int]:
    """Parse `name: number` lines of meminfo or /proc/PID/status: kB become bytes, counts stay as they are."""
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
