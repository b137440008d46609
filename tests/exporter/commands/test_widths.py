"""What commands print fits terminals of any width, and breaks no name and no number; a pipe gets whole lines."""

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from rich.cells import cell_len
from rich.text import Text
from tests.exporter.compare.test_terminal import RESULT
from tests.exporter.host.test_sizing import NEED, host
from tests.exporter.simulated import run
from tests.exporter.sysmon.simulated import simulated_report
from tests.exporter.top.feeds import recorded

from ase_exporter.advise.advice import advise
from ase_exporter.advise.view import advice_view
from ase_exporter.changes.change import Change
from ase_exporter.checks.target_check import TargetReport
from ase_exporter.checks.view import check_view
from ase_exporter.commands.changes import changes_view
from ase_exporter.compare.view import comparison_view
from ase_exporter.host.kernel import HugePagePool
from ase_exporter.host.view import hugepages_view
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.view import difference_view, sysmon_view
from ase_exporter.top import plain
from ase_exporter.top.frames import Frame
from ase_exporter.top.text import ASCII
from ase_exporter.untrusted.terminal import PlainConsole
from ase_exporter.views.terminal import print_view

# How what is to be copied begins: it is never broken.
WHOLE = (
    "-- ",
    "exec ",
    "use ",
    "grant ",
    "revoke ",
    "- {databases: ",
    "- databases: ",
    "vm.",
    "echo ",
    "hugepages=",
)


def frame() -> Frame:
    return recorded("memscale", "series 2 run 05")[-1]


@cache
def checked() -> TargetReport:
    """A login without mon_role on a server without monitoring."""
    with run("15.7 SP110") as server:
        return server.check("nobody").report()


@cache
def parsed(seed: int) -> Report:
    return parse(simulated_report("16.0", seed))


def print_advice() -> None:
    evidence = frame().evidence
    assert evidence
    print_view(advice_view(advise(evidence)))


def print_changes() -> None:
    words = ("PROD_TRADING_1", "option", "enable in-memory row storage", "0", "12,345,678", 1.7e9, 1.7e9)
    print_view(changes_view([Change("id", *words, who="dba_of_the_trading_floor", tags=("maintenance",))]))


COMMANDS: Mapping[str, Callable[[], None]] = {
    "advise": print_advice,
    "changes": print_changes,
    "check": lambda: print_view(check_view(checked())),
    "compare": lambda: print_view(comparison_view(RESULT, everything=True)),
    "hugepages": lambda: print_view(hugepages_view(NEED, host(HugePagePool(2 * 2**20, 70, 0, 0, 0)))),
    "sysmon parse": lambda: print_view(sysmon_view(parsed(1))),
    "sysmon diff": lambda: print_view(difference_view(parsed(1), parsed(2), 25)),
    "top --once": lambda: PlainConsole().print(*plain.report(frame(), ASCII), sep="\n"),
}


def words(text: str) -> set[str]:
    """All words but the strip of engines, which may take several lines."""
    return {word.strip(",:;()") for word in text.split() if not set(word) <= set(ASCII.levels)}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_terminal_breaks_a_name_or_a_number_and_a_pipe_gets_whole_lines(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(columns: str, colours: str = "") -> str:
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("FORCE_COLOR", colours)
        COMMANDS[command]()
        return capsys.readouterr().out

    piped = printed("")
    assert piped.isascii() and "\x1b" not in piped
    assert Text.from_ansi(printed("80", "1")).plain.rstrip() == printed("80").rstrip()
    for width in (60, 80, 120, 200):
        shown = printed(str(width))
        assert words(piped) <= words(shown), (width, words(piped) - words(shown))
        wide = [line for line in shown.splitlines() if cell_len(line) > width]
        assert all(line.lstrip().startswith(WHOLE) for line in wide), (width, wide)
        assert {line.rstrip() for line in wide} <= {line.rstrip() for line in piped.splitlines()}
