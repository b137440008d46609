"""Reports as clients write them are read whole; damaged ones are never called complete with another figure."""

import io
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from tests.exporter.sysmon.simulated import LAYOUTS, simulated_report, simulated_sample

from ase_exporter.sysmon.lines import open_lines
from ase_exporter.sysmon.report import NotAReportError, read_reports
from ase_exporter.sysmon.structure import Report
from ase_simulator.sysmon_report.report import write

Damage = Callable[[str, random.Random], str]
_SECTION = "=" * 79 + " \n"


def read(data: bytes) -> list[Report]:
    try:
        return list(read_reports(open_lines(io.BufferedReader(io.BytesIO(data)))))
    except NotAReportError:
        return []


def figures(report: Report) -> list[object]:
    return [
        (section.name, row.path, row.label, [(cell.measure, cell.value) for cell in row.cells], row.overflow)
        for section in report.sections
        for row in section.rows
    ]


def in_tabs(text: str) -> str:
    """Runs of blanks before a tab stop as tabs."""
    lines = []
    for line in text.split("\n"):
        plain = line.expandtabs(8)
        parts = [plain[at : at + 8] for at in range(0, len(plain), 8)]
        lines.append("".join(f"{part.rstrip()}\t" if part.endswith("  ") else part for part in parts))
    return "\n".join(lines)


def with_commas(text: str) -> str:
    head, title, body = text.partition("Kernel Utilization")
    return head + title + re.sub(r"(?<=\d)\.(?=\d)", ",", body)


CLIENTS: dict[str, Callable[[str], bytes]] = {
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR CR LF": lambda text: text.replace("\n", "\r\r\n").encode(),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "one byte a letter": lambda text: text.replace("PROD", "PR\xd6D").encode("latin-1"),
    "trailing blanks": lambda text: re.sub(r"(?m)$", "   ", text).encode(),
    "no trailing blanks": lambda text: re.sub(r"(?m)[ \t]+$", "", text).encode(),
    "tabs": lambda text: in_tabs(text).encode(),
    "decimal commas": lambda text: with_commas(text).encode(),
    "prompts and other output": lambda text: f"1> 2> \n 1\n\n{text}\n(return status = 0)\nbye\n".encode(),
    "counts of rows in French": lambda text: text.replace("\n \n", "\n(1 ligne affectée)\n").encode(),
    "folded blanks in the header": lambda text: (
        re.sub(r"(?m)[ \t]+", " ", text.partition("Kernel")[0]).encode()
        + text[text.index("Kernel") :].encode()
    ),
}


def of_lines(change: Callable[[list[str], int, random.Random], None]) -> Damage:
    """Change the list of lines in place, at one that is neither blank nor a rule."""

    def damage(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        change(lines, rng.choice([at for at, line in enumerate(lines) if line.strip(" -=")]), rng)
        return "\n".join(lines)

    return damage


def at_digit(change: Callable[[str, int, random.Random], str]) -> Damage:
    """Change the text at a digit below the header that is not of a name."""

    def damage(text: str, rng: random.Random) -> str:
        start = text.index("Kernel Utilization")
        return change(
            text,
            rng.choice(
                [each.start() for each in re.finditer(r"(?<![\w/])\d+", text) if each.start() > start]
            ),
            rng,
        )

    return damage


def _cut(lines: list[str], at: int, rng: random.Random) -> None:
    lines[at] = lines[at][: rng.randrange(len(lines[at].rstrip()))]


def _delete(lines: list[str], at: int, rng: random.Random) -> None:
    del lines[at : at + rng.choice((1, 1, 5, 40))]


def _double(lines: list[str], at: int, rng: random.Random) -> None:
    lines[at:at] = lines[at : at + rng.randrange(1, 60)]


def _quote(lines: list[str], at: int, rng: random.Random) -> None:
    lines[at] = f"> {lines[at]}"


def _lose_a_section(text: str, rng: random.Random) -> str:
    parts = text.split(_SECTION)
    del parts[rng.randrange(2, len(parts))]
    return _SECTION.join(parts)


def _splice(text: str, rng: random.Random) -> str:
    """The first sections of one report, and the last ones of another one, of a longer sample."""
    sample = replace(simulated_sample("16.0", 1_000 + rng.randrange(5)), elapsed_ms=90_000)
    other = "\n".join(write(sample).lines).split(_SECTION)
    parts = text.split(_SECTION)
    at = rng.randrange(3, len(parts))
    return _SECTION.join([*parts[:at], *other[at:]])


def _group(text: str, rng: random.Random) -> str:
    mark = rng.choice([",", ".", "'", " ", "\u202f", "\xa0"])
    return re.sub(
        r"(?<![\d.:/])\d{4,}(?![\d:/])", lambda match: f"{int(match[0]):,}".replace(",", mark), text
    )


DAMAGES: dict[str, Damage] = {
    "a line is cut": of_lines(_cut),
    "lines are lost": of_lines(_delete),
    "lines are there twice": of_lines(_double),
    "a line is quoted": of_lines(_quote),
    "a line is elsewhere": of_lines(
        lambda lines, at, rng: lines.insert(rng.randrange(len(lines)), lines.pop(at))
    ),
    "a digit is a letter": at_digit(lambda text, at, rng: text[:at] + rng.choice("OlISB") + text[at + 1 :]),
    "a line ends before a digit": at_digit(
        lambda text, at, rng: text[:at] + "\n" + text[at:].partition("\n")[2]
    ),
    "a section is lost": _lose_a_section,
    "the text is cut": lambda text, rng: text[: rng.randrange(len(text))],
    "parts of two reports": _splice,
    "quoted in a mail": lambda text, rng: re.sub(r"(?m)^", rng.choice(["> ", ">", "| "]), text),
    "a page of HTML": lambda text, rng: f"<pre>{text.replace('&', '&amp;').replace('<', '&lt;')}</pre>",
    "breaks of HTML": lambda text, rng: text.replace("\n", "<br>\n"),
    "separators of thousands": _group,
    "lines of another width": lambda text, rng: re.sub(r"(?m)^(.{60})(?=.)", r"\1\n", text),
    "folded blanks": lambda text, rng: re.sub(r"(?m)[ \t]+", " ", text),
}


@cache
def whole(seed: int) -> tuple[str, list[object]]:
    """A complete report of one of the layouts, and its figures."""
    text = simulated_report(LAYOUTS[seed % 3], 3 + seed // 3)
    [truth] = read(text.encode())
    assert truth.complete
    return text, figures(truth)


# Each client with one of the layouts; the others are in the slow tier.
@pytest.mark.parametrize("further", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2))])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_clients_write_has_the_same_figures(client: str, further: int) -> None:
    text, truth = whole((list(CLIENTS).index(client) + further) % len(LAYOUTS))
    [report] = read(CLIENTS[client](text))
    assert report.complete and figures(report) == truth


# How often each damage is done: to reports of two layouts, and to many of all in the slow tier.
@pytest.mark.parametrize("times", [2, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_report_is_complete_only_with_the_true_figures(damage: str, times: int) -> None:
    complete = 0
    for seed in range(times):
        text, truth = whole(seed)
        for report in read(DAMAGES[damage](text, random.Random(seed)).encode()):
            assert not report.complete or figures(report) == truth, (damage, seed)
            complete += report.complete
    assert complete < times


def test_noise_neither_raises_nor_makes_a_complete_report() -> None:
    rng = random.Random(1)
    text = simulated_report("16.0", 3)
    for _ in range(6):
        characters = list(text)
        for _ in range(50):
            characters[rng.randrange(len(characters))] = chr(rng.randrange(0x300))
        assert not any(report.complete for report in read("".join(characters).encode()))


@pytest.mark.parametrize("line", ["(a", "  ThreadPool : a", "- a", "   a 1", "1 " * 250])
def test_one_line_over_and_over_is_unread_each_time(line: str) -> None:
    text = simulated_report("16.0", 3).replace("Task Management", f"{line}\n" * 500 + "Task Management", 1)
    [report] = read(text.encode())
    assert not report.complete and len(report.unread) >= 500


def test_a_name_of_a_device_that_was_quoted_is_unread() -> None:
    text = simulated_report("16.0", 3).replace("\n    data_0 ", "\n>     data_0 ", 1)
    [report] = read(text.encode())
    assert [remark.text.partition(":")[0] for remark in report.unread] == ["not below the physical name"]
