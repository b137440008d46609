"""Turns bytes into lines: undoes compression, encodings, HTML pages, and blanks of other kinds."""

import codecs
import csv
import errno
import gzip
import html
import io
import json
import quopri
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, cast

_CHUNK = 1 << 16
_SNIFFED = 2048
_MAX_LINE = 1 << 20
# Characters beyond it, after which the file is no report: reading gigabytes without a line end would take minutes.
_MAX_LEFT_OUT = 16 << 20
_GZIP = b"\x1f\x8b"
# Of unpacked to packed bytes, beyond the first megabytes. Reports reach 15, a bomb 1000.
MAX_RATIO = 64
_FREE = 16 << 20
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# A byte of every other character is zero in UTF-16 text of Latin letters; some lines may hold other letters.
_UTF16_SHARE = 0.4
_ROW_ENDS = re.compile(r"<br\s*/?>|</(?:p|div|tr|li|h\d)>", re.IGNORECASE)
_CELL_ENDS = re.compile(r"</t[dh]>", re.IGNORECASE)
_TAGS = re.compile(
    r"</?(?:!doctype|html|head|body|title|meta|link|style|pre|code|tt|p|div|span|font|b|i|u|strong|em|a|h\d|hr"
    r"|table|tbody|thead|tr|td|th|ul|ol|li|blockquote|br)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:nbsp|amp|lt|gt|quot|apos|#\d{1,5}|#x[0-9a-f]{1,4});", re.IGNORECASE)
_BLANKS = re.compile(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_COLOURS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[()][A-Za-z0-9]|\x1b\][^\x07]*\x07|\x1b[=>78cDEHM]"
)
_QUOTED_PRINTABLE = re.compile(r"=(?:20|3D|25|09|A0|C2=A0)(?![0-9])")
_BORDERS = re.compile(r"[|\u2500-\u259f\xa6\u2014\u2015]+")
_LINE_BREAKS = re.compile(r"\x0c|<br\s*/?>", re.IGNORECASE)
_MIN_SEPARATORS = 3
_MIN_ESCAPED = 3
# A field of a log, or a string that is all of its line.
_LOG_ENTRY = re.compile(
    r"(?:\"(?:log|message|msg|line|text|MESSAGE)\" *: *|\b(?:log|msg|message|line)=)\"(?P<text>(?:[^\"\\]|\\.)*)\""
    r"|^ *\"(?P<whole>(?:[^\"\\]|\\.)*\\n(?:[^\"\\]|\\.)*)\",?$"
)
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")


def open_lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a file without their ends, one at a time: memory does not grow with the file.

    gzip is known by its first bytes, UTF-16 by its byte order mark or its zero bytes; the rest is UTF-8.
    A line ends at CR LF, LF or CR; CR CR LF (text mode used twice) is one end. Raises OSError or EOFError for a
    gzip file that is damaged or a bomb, and for a line that no report has.
    """
    packed = _Counted(
        file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    )
    is_packed = packed.file.peek(len(_GZIP)).startswith(_GZIP)
    source = gzip.GzipFile(fileobj=cast(BinaryIO, packed)) if is_packed else packed.file
    encoding = _encoding(source.peek(_SNIFFED)[:_SNIFFED])
    chunks: Iterator[bytes] = iter(partial(source.read1, _CHUNK), b"")
    if is_packed:
        chunks = _bounded(chunks, packed)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    rest, left_out = "", 0
    for chunk in chunks:
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        left_out = 0 if lines else left_out + max(len(rest) - _MAX_LINE, 0)
        if left_out > _MAX_LEFT_OUT:
            raise OSError(errno.EFBIG, f"a line has more than {_MAX_LEFT_OUT >> 20} MiB")
        rest = rest[:_MAX_LINE]
        for line in lines:
            yield from line.rstrip("\r").split("\r")
    yield from (rest + decoder.decode(b"", final=True)).rstrip("\r").split("\r")


def plain(line: str) -> list[str]:
    """A line without HTML tags and entities and with plain blanks: several where it holds row ends of HTML."""
    if "<" in line:
        line = _TAGS.sub("", _CELL_ENDS.sub("\t", _ROW_ENDS.sub("\n", line)))
    if "&" in line:
        line = _ENTITY.sub(lambda match: html.unescape(match[0]), line)
    if not line.isascii():
        line = unicodedata.normalize("NFKC", _INVISIBLE.sub("", _BLANKS.sub(" ", line))).replace(
            "\u2019", "'"
        )
    return line.split("\n")


class _Counted:
    """A file as GzipFile reads it. taken: how many bytes were."""

    def __init__(self, file: io.BufferedReader) -> None:
        self.file = file
        self.taken = 0

    def read(self, size: int) -> bytes:
        data = self.file.read(size)
        self.taken += len(data)
        return data


def _bounded(chunks: Iterator[bytes], packed: _Counted) -> Iterator[bytes]:
    """The same chunks. Raises OSError if they are too many for what they were unpacked from."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > _FREE + MAX_RATIO * packed.taken:
            raise OSError(f"it unpacks to more than {MAX_RATIO} times its size")
        yield chunk


def _encoding(head: bytes) -> str:
    for mark, name in _BOMS.items():
        if head.startswith(mark):
            return name
    half = len(head) // 2
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if half and head[first::2].count(0) >= _UTF16_SHARE * half:
            return name
    return "utf-8"


def unwrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines without what terminals, mail and logs wrap them in, several where one held the ends of others.

    Undone are colours, quoted-printable, JSON strings and logs of containers, quoted CSV, and box drawing.
    """
    pending = ""
    quoted_printable = False
    for line in lines:
        if "\x1b" in line or "\x9b" in line:
            line = _COLOURS.sub("", line)
        if "=" in line:
            quoted_printable = quoted_printable or bool(_QUOTED_PRINTABLE.search(line))
            if quoted_printable:
                joined = pending + line
                pending = ""
                if joined.endswith("=") and not joined.endswith("=="):
                    pending = joined[:-1]
                    continue
                line = quopri.decodestring(joined.encode("utf-8", "replace")).decode("utf-8", "replace")
        if pending:
            line, pending = pending + line, ""
        for piece in _unescaped(line):
            yield from _plain_piece(piece)
    if pending:
        yield pending


def _plain_piece(line: str) -> Iterator[str]:
    """A line without separators and quotes of spreadsheets, borders, and page ends."""
    if line.startswith('"') and line.rstrip(",; \t").endswith('"') and len(line) > 1:
        line = "  ".join(next(csv.reader([line], delimiter=";" if '";"' in line else ","), []))
    elif line.count(";") >= _MIN_SEPARATORS and not _ENTITY.search(line):
        line = line.replace(";", "  ")
    if not line.isascii() or "|" in line:
        line = _BORDERS.sub("  ", line)
    yield from _LINE_BREAKS.split(line) if "\x0c" in line or "<" in line else (line,)


def _unescaped(line: str) -> list[str]:
    """The text of a line that is a JSON string, or a log entry of JSON or of key=value pairs with the text in one."""
    match = _LOG_ENTRY.search(line) if '"' in line else None
    if match:
        text = match["text"] or match["whole"] or ""
        try:
            decoded = json.loads(f'"{text}"')
        except ValueError:
            return [line]
        return str(decoded).removesuffix("\n").split("\n")
    return line.replace("\\r", "").split("\\n") if line.count("\\n") >= _MIN_ESCAPED else [line]
