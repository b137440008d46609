"""Measures the time lines, keeps what fired in found.json, and writes docs/internals/alert-laboratory.md from it.

`python -m tests.alerts.laboratory.table [TEXT...]` measures the time lines whose titles have one of the texts, all of
them without any (about 20 minutes of one core).
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import jinja2
from tests.alerts.laboratory.lines import SLOWER, TimeLine, time_lines
from tests.alerts.laboratory.promtool import Firings, batches, fired
from tests.alerts.laboratory.score import Outcome, outcome
from tests.paths import DOCS

FOUND = Path(__file__).parent / "found.json"
TEMPLATE = Path(__file__).parent / "page.md.j2"
PAGE = DOCS / "internals" / "alert-laboratory.md"
# Engine -> title of a time line -> what fired in it.
Found = dict[str, dict[str, Firings]]


def found() -> Found:
    """What fired when the time lines were last measured."""
    loaded: Mapping[str, Any] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    return {
        engine: {
            title: {alert: [(start, end) for start, end in periods] for alert, periods in firings.items()}
            for title, firings in lines.items()
        }
        for engine, lines in loaded.items()
    }


def keep(everything: Found) -> None:
    """Write found.json and the page."""
    titles = {line.title for line in time_lines()}
    engines = [
        f"{json.dumps(engine)}: {{\n"
        + ",\n".join(
            f"{json.dumps(title)}: {json.dumps(firings, sort_keys=True)}"
            for title, firings in sorted(lines.items())
            if title in titles
        )
        + "\n}"
        for engine, lines in sorted(everything.items())
    ]
    FOUND.write_text("{\n" + ",\n".join(engines) + "\n}\n")
    PAGE.write_text(page(found()))


def outcomes(lines: Mapping[str, Firings], slower: str = "") -> list[Outcome]:
    """What is wrong in each measured time line. slower: in those of the rules for that interval instead, by name."""
    found = ((line, outcome(line, lines[line.title])) for line in _of(slower) if line.title in lines)
    return [replace(each, title=line.name) if slower else each for line, each in found]


def _of(slower: str) -> list[TimeLine]:
    if slower:
        return [line for line in time_lines() if line.variation == f"every {slower}"]
    return [line for line in time_lines() if line.family not in SLOWER or not line.variation]


def page(everything: Found) -> str:
    """The whole document."""
    engines = {engine: outcomes(lines) for engine, lines in everything.items()}
    slower = {f"every {family}": outcomes(everything["Prometheus 2.42"], family) for family in SLOWER}
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    text: str = environment.from_string(TEMPLATE.read_text()).render(
        engines=engines,
        slower=slower,
        unmeasured=_unmeasured(engines),
        beside=_beside,
        verdicts=_verdicts,
        left=_left,
        delays=_delays,
    )
    return text.rstrip() + "\n"


def _unmeasured(columns: Mapping[str, list[Outcome]]) -> dict[str, list[str]]:
    """Names of columns -> the time lines that exactly these lack."""
    titles = {name: {each.title for each in measured} for name, measured in columns.items()}
    lacking = defaultdict(list)
    for line in _of(""):
        lacking[", ".join(name for name in columns if line.title not in titles[name])].append(line.title)
    return {names: sorted(lines) for names, lines in lacking.items() if names}


def _beside(
    columns: Mapping[str, list[Outcome]], cells: Callable[[Iterable[Outcome]], dict[str, str]]
) -> list[tuple[str, list[str]]]:
    """The rows of a table: the first cell, and the cell of each column."""
    found = [cells(measured) for measured in columns.values()]
    rows = dict.fromkeys(row for column in found for row in column)
    return [(row, [column.get(row, "") for column in found]) for row in rows]


def _verdicts(measured: Iterable[Outcome]) -> dict[str, str]:
    """Time line -> what is wrong in it."""
    found = {each.title: (*each.wrong, *(f"no {name}" for name in each.missed)) for each in measured}
    return {title: ", ".join(wrong) or "as wanted" for title, wrong in found.items()}


def _left(measured: Iterable[Outcome]) -> dict[str, str]:
    """Time line -> minutes that each alert leaves until it is full."""
    filling = {each.title: sorted(each.left.items()) for each in measured if each.left}
    return {title: ", ".join(f"{alert} {left:g}" for alert, left in each) for title, each in filling.items()}


def _delays(measured: Iterable[Outcome]) -> dict[str, str]:
    """Alert -> median and maximum of the minutes to a page, and the number of pages."""
    delays: dict[str, list[float]] = defaultdict(list)
    for each in measured:
        for alert, delay in each.delays.items():
            delays[alert].append(delay / 60)
    return {alert: f"{median(each):g}, {max(each):g} ({len(each)})" for alert, each in sorted(delays.items())}


def main() -> None:
    """Measure time lines and write both files, after each batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="*", default=[""])
    parser.add_argument("--engine", default="Prometheus 2.42", help="its name in the page")
    parser.add_argument("--tool", default="promtool", help="its promtool, or its vmalert-tool")
    options = parser.parse_args()
    chosen = [line for line in time_lines() if any(text in line.title for text in options.texts)]
    for some in batches(chosen):
        measured = fired(some, tool=options.tool)
        everything = found()
        keep({**everything, options.engine: {**everything.get(options.engine, {}), **measured}})


if __name__ == "__main__":
    main()
