"""What happens to a report between the server and us, by class: each takes text and a random generator."""

import gzip
import html
import json
import quopri
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ase_exporter.assets import load_yaml
from ase_exporter.sysmon.grammar import grammar

Alteration = Callable[[str, random.Random], str | bytes]
NUMBER = re.compile(r"(?<![\w./:,-])-?\d+(?:\.\d+)?(?![\w./:,-])")
# Of a row: its label and all of its figures.
ROW = re.compile(r"^(?P<label> *\S.*?)(?P<values>(?: {2,}(?:-?\d[\d.]*|n/a|\*+)(?: %)?){2,} *)$")
RULE = re.compile(r"^ *[-=]{2}[-= ]*$")


def _lines(change: Callable[[str], str]) -> Alteration:
    return lambda text, rng: "\n".join(change(line) for line in text.split("\n"))


def _numbered(form: Callable[[int, str], str]) -> Alteration:
    return lambda text, rng: "\n".join(form(at, line) for at, line in enumerate(text.split("\n"), 1))


def _kept(keep: Callable[[str], object]) -> Alteration:
    return lambda text, rng: "\n".join(line for line in text.split("\n") if keep(line))


def _every(count: int, *added: str) -> Alteration:
    """Put lines in after each so many."""

    def change(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        for page, at in enumerate(range(len(lines) // count * count, 0, -count)):
            lines[at:at] = [line.replace("{}", str(page + 1)) for line in added]
        return "\n".join(lines)

    return change


def _values(change: Callable[[str], str]) -> Alteration:
    """Change the figures of each row."""

    def row(line: str) -> str:
        match = ROW.match(line)
        return match["label"] + change(match["values"]) if match else line

    return _lines(row)


def _locale(mark: str, decimal: str = ".", form: str = ",") -> Alteration:
    def number(match: re.Match[str]) -> str:
        whole, point, rest = match[0].partition(".")
        if form == "indian" and len(whole) > 3:
            grouped = re.sub(r"(?<=\d)(?=(?:\d\d)+$)", mark, whole[:-3]) + mark + whole[-3:]
        else:
            grouped = f"{int(whole):,}".replace(",", mark)
        return grouped + (decimal if point else "") + rest

    return _values(lambda text: NUMBER.sub(number, text))


def _values_of(line: str) -> str:
    match = ROW.match(line)
    return match["values"] if match else ""


def _cells(line: str) -> list[str]:
    match = ROW.match(line)
    return (
        [match["label"].rstrip(), *re.findall(r"\S+(?: %)?", match["values"])] if match else [line.rstrip()]
    )


def _joined(separator: str, quote: str = "", start: str = "", end: str = "") -> Alteration:
    return _lines(lambda line: start + separator.join(quote + cell + quote for cell in _cells(line)) + end)


def _digits(change: Callable[[str, random.Random], str], count: int) -> Alteration:
    """Change some figures of rows that are not zero."""

    def alter(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        rows = [at for at, line in enumerate(lines) if re.search(r"[1-9]\d", _values_of(line))]
        for at in rng.sample(rows, min(count, len(rows))):
            match = ROW.match(lines[at])
            assert match
            numbers = [found for found in NUMBER.finditer(match["values"]) if float(found[0])]
            chosen = rng.choice(numbers)
            start, end = chosen.span()
            values = match["values"]
            lines[at] = match["label"] + values[:start] + change(chosen[0], rng) + values[end:]
        return "\n".join(lines)

    return alter


def _other_digit(number: str, rng: random.Random) -> str:
    at = rng.choice([at for at, letter in enumerate(number) if letter.isdigit()])
    return number[:at] + rng.choice("0123456789".replace(number[at], "")) + number[at + 1 :]


def _transposed(number: str, rng: random.Random) -> str:
    pairs = [
        at for at in range(len(number) - 1) if number[at : at + 2].isdigit() and number[at] != number[at + 1]
    ]
    at = rng.choice(pairs) if pairs else -1
    return number[:at] + number[at + 1] + number[at] + number[at + 2 :] if pairs else number + "7"


def sections(text: str) -> list[str]:
    """A text cut before each section."""
    names = "|".join(sorted(map(re.escape, grammar().sections.values()), key=len, reverse=True))
    return re.split(rf"^(?=(?:{names})(?: +per sec.*)? *\n-)", text, flags=re.MULTILINE)


def _section(change: Callable[[list[str], int], list[str]]) -> Alteration:
    def alter(text: str, rng: random.Random) -> str:
        parts = sections(text)
        return "".join(change(parts, rng.randrange(1, len(parts))))

    return alter


def _lost(count: Callable[[int], int], of: Callable[[str], object]) -> Alteration:
    """Lose so many of the lines that are of a kind."""

    def alter(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        for at in sorted(
            rng.sample(found := [at for at, line in enumerate(lines) if of(line)], count(len(found)))
        )[::-1]:
            del lines[at]
        return "\n".join(lines)

    return alter


def _html(body: str) -> str:
    return f"<html><body>\n{body}\n</body></html>\n"


def _pairs(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    return "\n".join("  ".join(lines[at : at + 2]) for at in range(0, len(lines), 2))


def _folded(width: int, margin: str = "") -> Alteration:
    def fold(line: str) -> str:
        line = margin + line
        return "\n".join(line[at : at + width] for at in range(0, max(len(line), 1), width))

    return _lines(fold)


ALTERATIONS: dict[str, dict[str, Alteration]] = {
    "layout": {
        "original": _lines(lambda line: line),
        "blank lines removed": _kept(str.strip),
        "rules removed": _kept(lambda line: not RULE.match(line)),
        "dashes removed": _kept(lambda line: not RULE.match(line) or "=" in line),
        "blanks squeezed": _lines(lambda line: " ".join(line.split())),
        "tabs for gaps": _lines(lambda line: re.sub(r"(?<=\S) {2,}", "\t", line.expandtabs().strip())),
        "dot leaders": _values(
            lambda text: re.sub(r"^ {3,}", lambda m: " " + "." * (len(m[0]) - 2) + " ", text)
        ),
        "upper case": _lines(str.upper),
        "lower case": _lines(str.lower),
        "lines joined in pairs": _pairs,
        "folded at 80": _folded(80, "    "),
        "folded at 72": _folded(72),
    },
    "encoding": {
        "CR LF": lambda text, rng: text.replace("\n", "\r\n").encode(),
        "CR CR LF": lambda text, rng: text.replace("\n", "\r\r\n").encode(),
        "CR": lambda text, rng: text.replace("\n", "\r").encode(),
        "UTF-8 with a mark": lambda text, rng: text.encode("utf-8-sig"),
        "UTF-16 LE": lambda text, rng: text.encode("utf-16-le"),
        "UTF-16 BE": lambda text, rng: text.encode("utf-16-be"),
        "UTF-16": lambda text, rng: text.encode("utf-16"),
        "gzip": lambda text, rng: gzip.compress(text.encode(), 1),
        "HTML pre": lambda text, rng: _html(f"<pre>{html.escape(text)}</pre>"),
        "HTML nbsp": lambda text, rng: _html(
            html.escape(text).replace("  ", "&nbsp; ").replace("%", "&#37;")
        ),
        "HTML br": lambda text, rng: _html(html.escape(text).replace("\n", "<br>")),
        "HTML table": lambda text, rng: _html(
            "".join(
                f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(line))}</tr>\n"
                for line in text.split("\n")
            )
        ),
        "quoted-printable": lambda text, rng: quopri.encodestring(text.replace("\n", "\r\n").encode()),
        "JSON string": lambda text, rng: json.dumps(text),
        "JSON field": lambda text, rng: json.dumps({"host": "db1", "message": text}),
        "JSON lines": lambda text, rng: "\n".join(json.dumps({"text": line}) for line in text.split("\n")),
        "escaped line ends": lambda text, rng: text.replace("\n", "\\n"),
        "ANSI figures": _values(lambda text: NUMBER.sub(lambda match: f"\x1b[33m{match[0]}\x1b[m", text)),
        "full-width digits": _values(
            lambda text: text.translate({ord(str(d)): 0xFF10 + d for d in range(10)})
        ),
    },
    "wrappers": {
        "cat -A": _lines(lambda line: line.replace("\t", "^I") + "$"),
        "docker json-file": _lines(
            lambda line: json.dumps(
                {"log": line + "\n", "stream": "stdout", "time": "2024-03-01T12:00:00.1Z"}
            )
        ),
        "logfmt": _lines(lambda line: f"time=2024-03-01T12:00:00Z level=info msg={json.dumps(line)}"),
        "journald": _lines(lambda line: json.dumps({"PRIORITY": "6", "MESSAGE": line})),
    },
    "loss": {
        "end lost": lambda text, rng: text[: rng.randrange(len(text) // 2, len(text) - 100)],
        "most lost": lambda text, rng: text[: rng.randrange(len(text) // 4, len(text) // 2)],
        "beginning lost": lambda text, rng: text[rng.randrange(2000, len(text) // 2) :],
        "a third lost": lambda text, rng: text[: len(text) // 3] + text[2 * len(text) // 3 :],
        "middle left out": lambda text, rng: text[: len(text) // 3] + "\n[...]\n" + text[len(text) // 2 :],
        "header lost": lambda text, rng: "".join(sections(text)[1:]),
        "header and end alone": lambda text, rng: sections(text)[0] + text[-90:],
        "a section lost": _section(lambda parts, at: parts[:at] + parts[at + 1 :]),
        "two sections lost": _section(lambda parts, at: parts[:at] + parts[at + 2 :]),
        "a section alone": _section(lambda parts, at: [parts[at]]),
        "a section and the header": _section(lambda parts, at: [parts[0], parts[at], parts[-1][-90:]]),
        "a row lost": _lost(lambda count: 1, lambda line: re.search("[1-9]", _values_of(line))),
        "five rows lost": _lost(lambda count: 5, ROW.match),
        "lines lost": _lost(lambda count: count // 50, str.strip),
        "every tenth line lost": _numbered(lambda at, line: "" if at % 10 == 0 else line),
        "counts lost": _lines(lambda line: line[:57] + " " * 10 + line[67:]),
        "figures lost": _digits(lambda number, rng: " ", 10),
    },
    "digits": {
        "20 digits": _digits(_other_digit, 20),
        "10 digits": _digits(_other_digit, 10),
        "10 digits doubled": _digits(lambda number, rng: number[0] + number, 10),
        "10 digits dropped": _digits(
            lambda number, rng: number[1:] if number[1:2].isdigit() else "9" + number, 10
        ),
        "10 transposed": _digits(_transposed, 10),
        "10 times": _digits(lambda number, rng: number + "0", 10),
        "O for 0": _values(lambda text: text.replace("10", "1O", 1)),
        "l for 1": _values(lambda text: text.replace("1", "l", 1)),
        "signs": _digits(lambda number, rng: "-" + number, 10),
    },
}


def _load() -> None:
    """Add those of alterations.yaml."""
    makers: dict[str, Callable[..., Alteration]] = {
        "formats": lambda form: _numbered(
            lambda at, line: form.format(line=line, at=at, minute=at // 60 % 60, second=at % 60)
        ),
        "texts": lambda form: lambda text, rng: form.format(text=text),
        "pages": lambda what: _every(*what),
        "lines": lambda what: _lines(partial(re.sub, *what)),
        "rules": lambda what: _lines(
            lambda line: re.sub(what[0], what[1], line) if RULE.match(line) else line
        ),
        "values": lambda what: _values(partial(re.sub, *what)),
        "numbers": lambda what: _locale(*what),
        "cells": lambda what: _joined(*what),
    }
    for way, classes in load_yaml(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items():
        for group, kinds in classes.items():
            known = ALTERATIONS.setdefault(group, {})
            known |= {name: makers[way](what) for name, what in kinds.items()}


_load()


def _interleaved(one: str, two: str, rng: random.Random) -> str:
    return "\n".join(f"{a}\n{b}" for a, b in zip(one.split("\n"), two.split("\n"), strict=False))


def _side_by_side(separator: str) -> Callable[[str, str, random.Random], str]:
    return lambda one, two, rng: "\n".join(
        f"{a:<80.80}{separator}{b}" for a, b in zip(one.split("\n"), two.split("\n"), strict=False)
    )


def _crossed(one: str, two: str, rng: random.Random) -> str:
    """Sections of one up to some place, then those of the other."""
    first, second = sections(one), sections(two)
    at = rng.randrange(3, min(len(first), len(second)) - 3)
    return "".join(first[:at] + second[at:])


def _exchanged(one: str, two: str, rng: random.Random) -> str:
    """One section of the other report, in the place of its own."""
    first, second = sections(one), sections(two)
    name = "Lock Management\n"
    place = next(at for at, part in enumerate(first) if part.startswith(name))
    first[place] = next(part for part in second if part.startswith(name))
    return "".join(first)


SPLICES: dict[str, Callable[[str, str, random.Random], str]] = {
    "interleaved": _interleaved,
    "side by side": _side_by_side("  "),
    "diff -y": _side_by_side(" | "),
    "first and last sections": _crossed,
    "a section exchanged": _exchanged,
    "cut within a section": lambda one, two, rng: one[: len(one) // 2] + two[len(two) // 2 :],
    "a header exchanged": lambda one, two, rng: sections(one)[0] + "".join(sections(two)[1:]),
    "a section added": lambda one, two, rng: one[:-100] + "\n" + sections(two)[3] + one[-100:],
    "inserted": lambda one, two, rng: one[: len(one) // 2] + two + one[len(one) // 2 :],
    "alternate sections": lambda one, two, rng: "".join(
        parts[at % 2] for at, parts in enumerate(zip(sections(one), sections(two), strict=False))
    ),
}
"""Of two reports."""
