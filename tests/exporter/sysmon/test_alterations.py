"""A report is read in full whatever happened to it, or says loudly that it is not.

full: every figure, and complete where the original is; refused: called no report; silent: complete with a figure lost,
moved or wrong, or a wrong figure called verified; loud: all else.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import cycle, product
from statistics import mean

import pytest
from tests.exporter.sysmon.alterations import ALTERATIONS, SPLICES
from tests.exporter.sysmon.samples import decode, parse_all
from tests.exporter.sysmon.simulated import LAYOUTS, simulated_report
from tests.paths import SHARED

from ase_exporter.sysmon.report import NotAReportError
from ase_exporter.sysmon.structure import COUNT, PER_SEC, Report

FOLDER = SHARED / "ase" / "sysmon"
REAL = sorted(path.name for path in FOLDER.glob("real-*.txt"))
SIMULATED = ["15.0.3/1", "15.7/2", "16.0/3"]
KINDS = [(group, name) for group, kinds in ALTERATIONS.items() for name in kinds]
Figure = tuple[str, tuple[str, ...], str, str, float]


def sources(seeds: int) -> list[str]:
    return [*REAL, *(f"{layout}/{seed}" for seed in range(seeds) for layout in LAYOUTS)]


@cache
def report_text(name: str) -> str:
    """A real report by its file name, or a simulated one as layout/seed."""
    layout, slash, seed = name.partition("/")
    if not slash:
        return decode((FOLDER / name).read_bytes())
    return simulated_report(next(known for known in LAYOUTS if known == layout), int(seed))


def figures(reports: list[Report], quality: str = "") -> Counter[Figure]:
    """Names in lower case: an alteration of case cannot be undone."""
    return Counter(
        (section.name, tuple(map(str.casefold, row.path)), row.label.casefold(), cell.measure, cell.value)
        for report in reports
        for section, row, cell in report.cells()
        if quality in ("", cell.quality)
    )


@cache
def parsed(name: str) -> Report:
    [report] = parse_all(report_text(name))
    return report


@cache
def expected(name: str) -> tuple[Counter[Figure], bool]:
    return figures([parsed(name)]), parsed(name).complete


def outcome(name: str, altered: str | bytes) -> str:
    """What became of an altered report."""
    whole, complete = expected(name)
    try:
        reports = parse_all(decode(altered if isinstance(altered, bytes) else altered.encode()), name)
    except NotAReportError:
        return "refused"
    found = figures(reports)
    if found == whole and all(report.complete == complete for report in reports):
        return "full"
    if any(report.complete for report in reports):
        return "silent"
    return "loud"


def judge(cases: Iterable[tuple[tuple[str, str], str]]) -> set[str]:
    """Alter reports, each by one kind; the kinds that lose nothing and were not read in full nevertheless."""
    found = []
    for (group, kind), name in cases:
        altered = ALTERATIONS[group][kind](report_text(name), random.Random(f"{kind} {name}"))
        found.append((group, kind, name, outcome(name, altered)))
    assert [case[1:3] for case in found if case[3] == "silent"] == []
    counts = Counter(result for *_, result in found)
    assert counts["full"] >= 0.6 * counts.total(), counts
    assert counts["refused"] < 0.08 * counts.total(), counts
    return {kind for group, kind, _, result in found if result != "full" and group not in ("loss", "digits")}


def test_altered_reports_are_read_in_full_or_loudly() -> None:
    unread = judge(zip(KINDS, cycle([*REAL, *SIMULATED])))
    assert unread <= {"lines joined in pairs", "figures on lines of their own", "1 234.5", "1 234,5"}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_every_alteration_of_every_report() -> None:
    print(judge(product(KINDS, sources(3))))


def check_splice(kind: str, one: str, two: str) -> None:
    # Nothing in a report tells its header from another of the same release and interval.
    if kind == "a header exchanged" and one not in REAL:
        return
    text = SPLICES[kind](report_text(one), report_text(two), random.Random(f"{kind} {one} {two}"))
    try:
        reports = parse_all(text)
    except NotAReportError:
        return
    both = expected(one)[0] + expected(two)[0]
    # A section without activity is the same in both.
    whole = figures(reports) in (both, expected(one)[0])
    assert whole or not any(report.complete for report in reports), (kind, one, two)


def commits(name: str) -> str:
    return next(line for line in report_text(name).split("\n") if "Committed Xacts" in line)


@cache
def pairs() -> list[tuple[str, str]]:
    """Nothing tells sections of two samples of one length apart that have as many transactions: here they differ."""
    return [
        (one, next(two for seed in range(2, 9) if commits(two := f"{layout}/{seed}") != commits(one)))
        for layout in LAYOUTS
        for one in [f"{layout}/1"]
    ] + ([(REAL[2], REAL[3]), (REAL[3], "16.0/5")] if REAL else [])


def test_parts_of_two_reports_are_never_one() -> None:
    """Each kind on a pair of simulated reports, and on one with a real report."""
    simulated, real = pairs()[: len(LAYOUTS)], pairs()[len(LAYOUTS) :]
    for kind, *both in zip(SPLICES, cycle(simulated), cycle(real or simulated), strict=False):
        for one, two in both:
            check_splice(kind, one, two)


@pytest.mark.slow
def test_parts_of_any_two_reports_are_never_one() -> None:
    for kind, (one, two) in product(SPLICES, pairs()):
        check_splice(kind, one, two)


def check_digits(seed: int, cases: int) -> tuple[float, float]:
    """The shares of digit errors that are found: of all, and of those in rows that print a count as a rate too.

    Each digit of a figure is as likely as any other. No wrong figure is ever verified.
    """
    rng = random.Random(seed)
    found: dict[bool, list[bool]] = {True: [], False: []}
    for _ in range(cases):
        name = rng.choice(sources(2))
        lines = report_text(name).split("\n")
        whole = parsed(name)
        row, cell, at = rng.choice(
            [
                (row, cell, at)
                for _, row, cell in whole.cells()
                for at, letter in enumerate(cell.text)
                if letter.isdigit()
            ]
        )
        wrong = cell.text[:at] + rng.choice("0123456789".replace(cell.text[at], "")) + cell.text[at + 1 :]
        line = lines[row.line - 1].expandtabs(8)
        lines[row.line - 1] = line[: cell.column] + wrong + line[cell.column + len(cell.text) :]
        reports = parse_all("\n".join(lines))
        found[{COUNT, PER_SEC} <= {one.measure for one in row.cells}].append(
            any(
                one.contradictions or one.unplaced or len(one.missing) > len(whole.missing) for one in reports
            )
        )
        verified = {
            (other.line, one.column)
            for report in reports
            for _, other, one in report.cells()
            if one.quality == "verified"
        }
        assert (row.line, cell.column) not in verified, (name, row, cell.text, wrong)
    return mean([*found[True], *found[False]]), mean(found[True])


def test_digit_errors_are_found() -> None:
    of_all, of_counts = check_digits(1, 40)
    assert of_all > 0.8
    assert of_counts > 0.9


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_digit_errors() -> None:
    of_all, of_counts = check_digits(7, 1000)
    print(f"found of 1,000 digit errors: {of_all:.1%}; of those in counts and their rates: {of_counts:.1%}")
    assert of_all >= 0.95
    assert of_counts >= 0.95


@pytest.mark.parametrize("name", [*REAL, *SIMULATED])
def test_each_number_of_the_text_is_in_the_ledger(name: str) -> None:
    text, report = report_text(name), parsed(name)
    wide = [line.expandtabs(8) for line in text.splitlines()]
    cells = {(row.line, cell.column): cell.text for _, row, cell in report.cells()}
    assert all(wide[line - 1][at:].startswith(shown) for (line, at), shown in cells.items())
    placed = sum(1 for _ in report.cells())
    assert placed == len(cells)
    lines = [re.sub(r"^(?:\d+> )+", "", line) for line in text[text.index("=====") :].split("\n")]
    numbers = sum(len(re.findall(r"\d+(?:[.,]\d+)*", line)) for line in lines)
    assert placed + report.discarded + report.lost == numbers


# Nothing tells that these lines were there. All but the last say that nothing happened; what did nothing is not printed
# by every server and service pack. Of the last, real reports have all sizes.
UNNOTICED = re.compile(
    r" *(?:by No Free Plcblock .* 0  +0\.0 %|Thread \d+ .* 0\.0 % +0\.0 % +100\.0 %|Polls .* 0 +0\.0 %"
    r"|Avg Time per Free Chkpt +0\.00000 seconds|Total I/Os .* 0 +(?:n/a|0\.0 %)|LFB memory pool +64 .*)"
)


def check_lost_lines(name: str, positions: list[int]) -> list[tuple[int, str]]:
    """The lines without which a report is complete although figures are lost, moved or wrong."""
    lines = report_text(name).split("\n")
    whole, _ = expected(name)
    silent = []
    for position in positions:
        if not any(map(str.isalnum, lines[position])) or UNNOTICED.fullmatch(lines[position].rstrip()):
            continue
        reports = parse_all("\n".join(lines[:position] + lines[position + 1 :]), name)
        if figures(reports) != whole and all(report.complete for report in reports):
            silent.append((position, lines[position]))
    return silent


@pytest.mark.parametrize("name", SIMULATED)
def test_a_lost_line_is_noticed(name: str) -> None:
    count = report_text(name).count("\n")
    assert check_lost_lines(name, random.Random(name).sample(range(count), 10)) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", [*REAL, *SIMULATED])
def test_every_line_lost_once(name: str) -> None:
    assert check_lost_lines(name, list(range(report_text(name).count("\n")))) == []
