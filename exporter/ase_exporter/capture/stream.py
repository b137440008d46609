"""Captures that grow while they are recorded, and are read scrape by scrape, whatever their size.

A file consists of several gzip members: the header, the statements of each scrape, and the end. The header is stored
without compression, so that its number of scrapes can be replaced. After each scrape the file is a whole capture: a
process that is killed loses at most the scrape that it was writing.
"""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from ase_exporter.capture.file import (
    MAX_SIZE,
    CaptureHeader,
    Execution,
    end_line,
    header_line,
    read,
    statement_line,
    text_lines,
)
from ase_exporter.errors import UserError
from ase_exporter.regular_files import create

# The width of the header line; blanks at its end are no part of the JSON.
_HEADER_SIZE = 1000


class CaptureWriter:
    """Writes a capture to a file, scrape by scrape. is_full: no more fits into what `load` reads.

    Raises UserError if the file cannot be written.
    """

    def __init__(self, path: Path, header: CaptureHeader) -> None:
        self.is_full = False
        self._path = path
        self._header = replace(header, scrapes=1)
        self._count = 0
        self._size = _HEADER_SIZE
        try:
            self._file: BinaryIO = create(path)
        except OSError as error:
            raise UserError(f"--record {path}: {error.strerror}") from None
        self._tail = len(self._head(1))
        self._write(0, self._head(1) + self._end())

    def add(self, statements: Sequence[Execution]) -> None:
        """Append the statements of scrapes, unless the file is full."""
        data = "".join(statement_line(each) + "\n" for each in statements).encode()
        if self.is_full or self._size + len(data) > MAX_SIZE:
            self.is_full = True
            return
        self._size += len(data)
        self._count += len(statements)
        # Write the header first: after a crash it may count one scrape too many, never too few.
        if statements and (last := statements[-1].scrape) > self._header.scrapes:
            self._header = replace(self._header, scrapes=last)
            self._write(0, self._head(last))
        member = gzip.compress(data, mtime=0)
        self._write(self._tail, member + self._end())
        self._tail += len(member)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _head(self, scrapes: int) -> bytes:
        line = header_line(replace(self._header, scrapes=scrapes)).encode()
        return gzip.compress(line.ljust(_HEADER_SIZE - 1) + b"\n", 0, mtime=0)

    def _end(self) -> bytes:
        return gzip.compress((end_line(self._count) + "\n").encode(), mtime=0)

    def _write(self, at: int, data: bytes) -> None:
        try:
            self._file.seek(at)
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise UserError(f"--record {self._path}: {error.strerror}") from None


def read_scrapes(path: Path) -> tuple[CaptureHeader, Iterator[list[Execution]]]:
    """The header, then the statements of each scrape that has any. Both raise UserError if it is not a capture."""
    header, statements = read(text_lines(path), str(path))
    return header, (list(found) for _, found in groupby(statements, key=lambda each: each.scrape))
