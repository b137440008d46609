"""Whatever happened to a report on its way: reading it neither raises nor hangs.

The limit on processor time guards against patterns that go quadratic, which take minutes; it is fifty times what
is needed.
"""

import random
import time
from collections.abc import Callable

import pytest
from tests.exporter.sysmon import samples
from tests.exporter.sysmon.alterations import Alteration
from tests.exporter.sysmon.samples import parse_all, row, section, table

from ase_exporter.sysmon.report import NotAReportError

MAX_SECONDS_PER_100_KB = 5.0
_ERROR = "Msg 11039, Level 16, State 1:\nServer 'PROD_DS', Procedure 'sp_sysmon_locks', Line 77:\nfailed"
_ALPHABET = "-= %*n/a0123456789.:\n\t"


def whole(rng: random.Random) -> str:
    """A report with figures of all magnitudes: one in twenty has 100 KB, the others a twentieth of that."""
    parts = [section("Kernel Utilization", samples.ENGINES), samples.TRANSACTIONS]
    for number in range(rng.choice([40] + [2] * 19)):
        lines = [
            row(
                f"    Row {index}", f"{rng.random() * 10**9:.1f}"[:12], "*" * 12, -rng.randrange(10**9), "0.1"
            )
            for index in range(30)
        ]
        parts.append(section(f"Section of number {number}", table(f"Table {number}", *lines)))
    return samples.report(*parts)


def lines(change: Callable[[list[str], random.Random], object]) -> Alteration:
    """Change the list of lines in place."""

    def alter(text: str, rng: random.Random) -> str:
        found = text.split("\n")
        change(found, rng)
        return "\n".join(found)

    return alter


def inject_errors(found: list[str], rng: random.Random) -> None:
    for _ in range(20):
        found.insert(rng.randrange(len(found) + 1), _ERROR)


def rotate(found: list[str], rng: random.Random) -> None:
    at = rng.randrange(len(found) + 1)
    found[:] = found[at:] + found[:at]


def noise(text: str, rng: random.Random) -> str:
    characters = list(text)
    for _ in range(min(300, len(characters))):
        characters[rng.randrange(len(characters))] = chr(rng.randrange(0x300))
    return "".join(characters)


DAMAGES: tuple[Alteration, ...] = (
    lambda text, rng: text[: rng.randrange(len(text) + 1)],
    lines(rotate),
    lines(lambda found, rng: rng.shuffle(found)),
    lines(inject_errors),
    noise,
    lambda text, rng: "".join(rng.choices(_ALPHABET, k=len(text))),
    lambda text, rng: text.replace("\n", rng.choice([" ", "\r", "\r\n", "\x0c"])),
    lambda text, rng: "\n".join(" ".join(line.split()) for line in text.split("\n")),
)


def check(seed: int) -> None:
    rng = random.Random(seed)
    text = whole(rng)
    for damage in rng.choices(DAMAGES, k=rng.randint(1, 3)):
        text = str(damage(text, rng))
    started = time.thread_time()
    try:
        for report in parse_all(text):
            assert all(cell.value == cell.value for _, _, cell in report.cells())
    except NotAReportError:
        pass
    assert time.thread_time() - started < MAX_SECONDS_PER_100_KB * max(len(text), 100_000) / 100_000


def test_two_hundred_mutated_reports() -> None:
    for seed in range(200):
        check(seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 10_000, 1_000))
def test_ten_thousand_mutated_reports(first: int) -> None:
    for seed in range(first, first + 1_000):
        check(seed)


@pytest.mark.parametrize(
    "line",
    [
        "a",
        "(a",
        "- a",
        "    (a",
        "Total: 1 Mean: 2 ",
        "  ThreadPool : a",
        "Msg 1, Level 1, State 1:",
        "   a 1",
        "-- --",
        "A" + " " * 500,
    ],
)
def test_one_line_over_and_over(line: str) -> None:
    head = "Kernel Utilization\n------------------\n Tuning Recommendations\n"
    text = samples.HEADER + head + f"{line}\n" * min(20_000, 100_000 // (len(line) + 1))
    started = time.thread_time()
    parse_all(text.replace("\n", f"\n{row('      x', 1, 1, 1)}\n", 2000))
    assert time.thread_time() - started < 4 * MAX_SECONDS_PER_100_KB
