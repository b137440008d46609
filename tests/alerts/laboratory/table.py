"""Measures the time lines, keeps what fired in found.json, and writes docs/internals/alert-laboratory.md from it.

`python -m tests.alerts.laboratory.table [TEXT...]` measures the time lines whose titles have one of the texts, all of
them without any (about 20 minutes of one core).
"""

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.alerts.laboratory.lines import SLOWER, TimeLine, time_lines
from tests.alerts.laboratory.promtool import Firings, batches, fired
from tests.alerts.laboratory.score import Outcome, outcome
from tests.paths import DOCS

FOUND = Path(__file__).parent / "found.json"
PAGE = DOCS / "internals" / "alert-laboratory.md"
HEADER = """\
# The laboratory of alerts

Written by `python -m tests.alerts.laboratory.table`. The time lines of `tests/alerts/laboratory/time_lines.yaml` say
what happens to a server, when alerts should page and when not; most are run again with lost scrapes and outages. The
shipped rules are evaluated step by step over each; what the exporter reads once a minute stays for a minute. A wrong
page is one that nobody should get, or the second of one event; a miss is one that does not come in time. What fires
before Prometheus is away and soon after is one event: it restores its alerts.

Prometheus 3.15 is its promtool, VictoriaMetrics is vmalert-tool 1.110. Both leave out a sample at the left edge of a
window, so a median that is decided by one sample moves by a scrape. vmalert sees what a rule recorded at its next
evaluation, so an alert on a series that is recorded from another comes an evaluation later.
`tests/alerts/test_engines.py` runs the test files of all alerts in both.

A night of 300 healthy servers with batches, loads, purges and dumps, and of four with an incident, sends five alerts
through Alertmanager 0.25, all of the incidents: four pages and a warning (`tests/e2e/test_notifications.py`).

What is not told: a failover of HADR as such, whose state is not read, as no public source lists what hadr_mode() and
hadr_state() return: AseRestarted fires if the other server was started later.
"""

SLOWER_HEADER = """\
# Longer intervals

The time lines of the shipped rules again, for `ase-exporter rules --interval`, in Prometheus 2.42. A miss is a page
later than two intervals after the shipped rules promise it, or after what fills is full.
"""

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
    parts = [HEADER, *_compared(everything)]
    for engine, lines in everything.items():
        parts += [f"## {engine}", *_tables(outcomes(lines), _of(""))]
    return "\n".join([*parts, *_slower(everything["Prometheus 2.42"])])


def _slower(lines: Mapping[str, Firings]) -> Iterator[str]:
    """What the rules for longer intervals do with the time lines of the shipped ones."""
    yield from SLOWER_HEADER.splitlines()
    for family in SLOWER:
        yield from (f"## Scraped every {family}", *_tables(outcomes(lines, family), _of(family)))


def _compared(everything: Found) -> list[str]:
    """The figures of all engines, and each time line that they do not judge alike."""
    judged = {engine: {each.title: each for each in outcomes(lines)} for engine, lines in everything.items()}
    rows = ["| engine | time lines | wrong pages | misses |", "| --- | --- | --- | --- |"]
    for engine, by_title in judged.items():
        wrong, missed = failures(by_title.values())
        rows.append(f"| {engine} | {len(by_title)} | {wrong} | {missed} |")
    both = set.intersection(*(set(by_title) for by_title in judged.values()))
    differing = []
    for line in time_lines():
        found = {engine: by_title[line.title] for engine, by_title in judged.items() if line.title in both}
        if len({(each.wrong, each.missed) for each in found.values()}) > 1:
            said = (
                ", ".join((*each.wrong, *(f"no {name}" for name in each.missed))) or "as wanted"
                for each in found.values()
            )
            differing.append(f"| {line.title} | {' | '.join(said)} |")
    head = [f"| time line | {' | '.join(judged)} |", f"| --- |{' --- |' * len(judged)}"]
    return [
        *rows,
        "",
        "They judge these time lines differently; all others alike.",
        "",
        *head,
        *differing,
        "",
    ]


def failures(measured: Iterable[Outcome]) -> tuple[int, int]:
    """How many wrong pages and misses."""
    wrong, missed = zip(*((len(each.wrong), len(each.missed)) for each in measured), strict=True)
    return sum(wrong), sum(missed)


def _tables(measured: Sequence[Outcome], lines: Iterable[TimeLine]) -> list[str]:
    """What was found in the measured ones of the time lines."""
    wrong, missed = failures(measured)
    titles = {line.title for line in lines} - {each.title for each in measured}
    missing = f" Not measured: {'; '.join(sorted(titles))}." if titles else ""
    summary = f"{len(measured)} time lines, {wrong} wrong pages, {missed} misses.{missing}"
    return [summary, "", *_failures(measured), *_filling(measured), *_by_alert(measured), ""]


def _failures(measured: Iterable[Outcome]) -> list[str]:
    rows = [
        f"| {each.title} | {', '.join(each.wrong)} | {', '.join(each.missed)} |"
        for each in measured
        if each.wrong or each.missed
    ]
    return ["| time line | wrong | missed |", "| --- | --- | --- |", *rows, ""] if rows else []


def _by_alert(measured: Iterable[Outcome]) -> list[str]:
    delays: dict[str, list[float]] = defaultdict(list)
    for each in measured:
        for alert, delay in each.delays.items():
            delays[alert].append(delay / 60)
    rows = [
        f"| {alert} | {len(each)} | {statistics.median(each):g} | {max(each):g} |"
        for alert, each in sorted(delays.items())
    ]
    return ["| alert | pages | minutes, median | minutes, latest |", "| --- | --- | --- | --- |", *rows]


def _filling(measured: Iterable[Outcome]) -> list[str]:
    rows = [
        f"| {each.title} | {', '.join(f'{alert} {left:g}' for alert, left in sorted(each.left.items()))} |"
        for each in measured
        if each.left
    ]
    return ["| time line | minutes left before it is full |", "| --- | --- |", *rows, ""] if rows else []


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
