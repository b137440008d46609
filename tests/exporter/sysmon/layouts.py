"""What mail clients, terminals, browsers and scripts do to the white space of a report.

Each kind takes the text of a report and a random generator, and returns the bytes of the altered file.
"""

import gzip
import html
import random
import re
from collections.abc import Callable

Kind = Callable[[str, random.Random], bytes]


def _lines(text: str, change: Callable[[int, str], str]) -> bytes:
    lines = text.removesuffix("\n").split("\n")
    return ("\n".join(change(number, line) for number, line in enumerate(lines, 1)) + "\n").encode()


def original(text: str, rng: random.Random) -> bytes:
    return text.encode()


def strip(text: str, rng: random.Random) -> bytes:
    return _lines(text, lambda _, line: line.strip())


def strip_left(text: str, rng: random.Random) -> bytes:
    return _lines(text, lambda _, line: line.lstrip())


def indent(text: str, rng: random.Random) -> bytes:
    margin = rng.choice(("    ", "  ", "\t", " " * 11))
    return _lines(text, lambda _, line: margin + line)


def double(text: str, rng: random.Random) -> bytes:
    return text.replace("\n", "\n" * rng.choice((2, 3))).encode()


def crcrlf(text: str, rng: random.Random) -> bytes:
    return text.replace("\n", "\r\r\n").encode()


def crlf(text: str, rng: random.Random) -> bytes:
    return text.replace("\n", "\r\n").encode()


def quote(text: str, rng: random.Random) -> bytes:
    mark = rng.choice(("> ", ">> ", "> > ", ">", "| ", "# "))
    return _lines(text, lambda _, line: (mark + line).rstrip() if rng.random() < 0.5 else mark + line)


def cat_numbers(text: str, rng: random.Random) -> bytes:
    return _lines(text, lambda number, line: f"{number:6d}\t{line}")


def grep_numbers(text: str, rng: random.Random) -> bytes:
    name = rng.choice(("", "", "sysmon.txt:"))
    return _lines(text, lambda number, line: f"{name}{number}:{line}")


def timestamps(text: str, rng: random.Random) -> bytes:
    form = rng.choice(
        (
            "2024-03-01 12:{:02d}:{:02d} ",
            "[12:{:02d}:{:02d}] ",
            "2024-03-01T12:{:02d}:{:02d}.123Z ",
            "Mar  1 12:{:02d}:{:02d} dbhost sysmon[4711]: ",
            "12:{:02d}:{:02d} | ",
        )
    )
    return _lines(text, lambda number, line: form.format(number // 600 % 60, number // 10 % 60) + line)


def nbsp(text: str, rng: random.Random) -> bytes:
    return text.replace(" ", "\xa0").encode()


def unexpand(text: str, rng: random.Random) -> bytes:
    """As `unexpand -a`: tabs that keep every position."""

    def tabbed(line: str) -> str:
        line = line.expandtabs(8)
        pieces = [line[at : at + 8] for at in range(0, len(line), 8)]
        return "".join(re.sub(r" {2,}$", "\t", piece) if len(piece) == 8 else piece for piece in pieces)

    return _lines(text, lambda _, line: tabbed(line))


def tab_separated(text: str, rng: random.Random) -> bytes:
    """As pasted into a spreadsheet and back: every gap is one tab, positions are lost."""
    return _lines(text, lambda _, line: re.sub(r"(?<=\S) {2,}", "\t", line.expandtabs(8).strip()))


def html_page(text: str, rng: random.Random) -> bytes:
    body = html.escape(text)
    if rng.random() < 0.5:
        body = body.replace("  ", "&nbsp; ").replace("%", "&#37;")
    return f"<html><head><title>sysmon</title></head><body>\n<pre>\n{body}</pre>\n</body></html>\n".encode()


def utf16(text: str, rng: random.Random) -> bytes:
    return text.encode(rng.choice(("utf-16-le", "utf-16-be", "utf-16")))


def compressed(text: str, rng: random.Random) -> bytes:
    return gzip.compress(text.encode(), 1)


def wrap(text: str, rng: random.Random, width: int = 80) -> bytes:
    """As `fold -w 80`, after something made the lines longer than they were."""
    margin = " " * rng.choice((0, 0, 2, 4))
    return _lines(
        text,
        lambda _, line: "\n".join(
            (margin + line)[at : at + width] for at in range(0, max(len(margin + line), 1), width)
        ),
    )


def cut_end(text: str, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text))].encode()


def cut_start(text: str, rng: random.Random) -> bytes:
    return text[rng.randrange(len(text)) :].encode()


def third_lost(text: str, rng: random.Random) -> bytes:
    lines = text.split("\n")
    start = rng.randrange(len(lines) // 2)
    del lines[start : start + len(lines) // 3]
    return "\n".join(lines).encode()


WHOLE_LINES: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (
        original,
        strip,
        strip_left,
        indent,
        double,
        crcrlf,
        crlf,
        quote,
        cat_numbers,
        grep_numbers,
        timestamps,
        nbsp,
        unexpand,
        tab_separated,
        html_page,
        utf16,
        compressed,
    )
}
"""Kinds that keep every line and every figure: the report must be read in full."""

BROKEN_LINES: dict[str, Kind] = {kind.__name__: kind for kind in (wrap, cut_end, cut_start)}
"""Kinds that may lose something: the report must be read in full or be called incomplete."""

KINDS = WHOLE_LINES | BROKEN_LINES
