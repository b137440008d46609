"""Measures the time lines, keeps what fired in found.json, and writes docs/internals/alert-laboratory.md from it.

`python -m tests.alerts.laboratory.table [TEXT...]` measures the time lines whose titles have one of the texts, all of
them without any (about 20 minutes of one core).
"""

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
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
    """What is wrong in each measured time line. slower: in those of the rules for that interval instead."""
    return [outcome(line, lines[line.title]) for line in _of(slower) if line.title in lines]


def _of(slower: str) -> list[TimeLine]:
    if slower:
        return [line for line in time_lines() if line.variation == f"every {slower}"]
    return [line for line in time_lines() if line.family not in SLOWER or not line.variation]


def page(everything: Found) -> str:
    """The whole document."""
    slower = {family: (outcomes(everything["Prometheus 2.42"], family), _of(family)) for family in SLOWER}
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    text: str = environment.from_string(TEMPLATE.read_text()).render(
        engines={engine: outcomes(lines) for engine, lines in everything.items()},
        differing=list(_differing(everything)),
        lines=_of(""),
        slower=slower,
        delays=_delays,
        median=statistics.median,
    )
    return text.rstrip() + "\n"


def _differing(everything: Found) -> Iterator[tuple[str, list[str]]]:
    """The time lines that engines do not judge alike, of those that all have measured: what each says."""
    judged = [{each.title: each for each in outcomes(lines)} for lines in everything.values()]
    for title in (line.title for line in time_lines() if all(line.title in each for each in judged)):
        found = [each[title] for each in judged]
        if len({(each.wrong, each.missed) for each in found}) > 1:
            yield (
                title,
                [
                    ", ".join((*each.wrong, *(f"no {name}" for name in each.missed))) or "as wanted"
                    for each in found
                ],
            )


def _delays(measured: Iterable[Outcome]) -> list[tuple[str, list[float]]]:
    """Alert -> minutes to each page."""
    delays: dict[str, list[float]] = defaultdict(list)
    for each in measured:
        for alert, delay in each.delays.items():
            delays[alert].append(delay / 60)
    return sorted(delays.items())


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
