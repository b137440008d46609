"""Writes docs/internals/incidents.md, how well incidents are found: python -m tests.incidents.table"""

from collections.abc import Iterator

from tests.incidents.running import Site, incidents
from tests.incidents.scoring import POINTS, Score, by_number, scores
from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "internals" / "incidents.md"
SITES = {
    "as above": Site(),
    "seed 2": Site(seed=2),
    "4 engines": Site(engines=4),
    "32 engines": Site(engines=32),
    "128 engines": Site(engines=128),
}
_HEAD = """# Incidents

Written by `python -m tests.incidents.table` from the incident benchmark (tests/incidents): incidents whose truth is
known, in simulated time, and what is said of each. Points: 1 a symptom, 2 the class of cause comes first, 3 the object,
session or statement is named, 4 there is a remedy with what to expect of it. Of several incidents with one number, the
worst counts. "First word of top" is without a history; what `top` cannot know without one, it says was not compared.

Faults that the simulator's model cannot express are laid over the metrics of a healthy simulated server. Sessions and
tables are named where the collectors `process_activity` and `objects` are on, and replication with
`rep_senders`.

| number | incident | points | first word of top | found | seconds | about |
|---|---|---|---|---|---|---|
"""
_SITES = """
Of the same incidents on other servers, and with other random numbers:

| server | points | the right finding comes first | wrong all-clears |
|---|---|---|---|
"""


def row(name: str, score: Score) -> str:
    """One incident. Seconds: since the fault, until the right finding stays first."""
    incident = incidents()[name]
    number, points = (str(incident.number), str(score.points)) if incident.number else ("", "")
    word = score.word if score.top else f"{score.word} (not compared)"
    seconds = "" if score.seconds is None else f"{score.seconds:.0f}"
    return f"| {' | '.join((number, incident.title, points, word, score.state, seconds, score.about))} |"


def summary(title: str, site: Site) -> str:
    """One server: its points, and how often the right finding comes first."""
    found = scores(site)
    points = by_number({name: each.points for name, each in found.items()})
    right = sum(each.state in incidents()[name].truth.first for name, each in found.items())
    wrong = sum(bool(each.all_clears) for each in found.values())
    return (
        f"| {title} | {sum(points.values())} of {POINTS * len(points)} | {right} of {len(found)} | {wrong} |"
    )


def page() -> Iterator[str]:
    """The whole page, by line."""
    yield _HEAD.rstrip("\n")
    yield from (row(name, score) for name, score in scores().items())
    yield _SITES.rstrip("\n")
    yield from (summary(title, site) for title, site in SITES.items())


if __name__ == "__main__":
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")
