"""The verdict on a comparison in one sentence, and its measures in order of relevance."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import filterfalse

from ase_exporter.compare.comparison import EFFICIENCY, Comparison, ComparisonRow, sweet_spot
from ase_exporter.compare.measures import LOAD
from ase_exporter.pages.text import as_count

NO_EVIDENCE = "no evidence"
# What is said of other measures, of one and of several.
_OTHERS = {
    "better": ("other is better", "others are better"),
    "worse": ("other is worse", "others are worse"),
    "changed": ("other changed", "others changed"),
}
# Measures of what users feel; throughput comes last, as it also falls when less is asked for.
EFFECTS = ("response_time", EFFICIENCY, LOAD)


def changed_rows(comparison: Comparison) -> tuple[list[ComparisonRow], list[ComparisonRow]]:
    """The rows that changed beyond chance in any window, throughput per CPU unit first, and the others."""

    def changed(row: ComparisonRow) -> bool:
        differences = (*row.steps, *row.against_first)
        return any(each is not None and each.verdict != NO_EVIDENCE for each in differences)

    ordered = sorted(comparison.rows, key=lambda row: row.key != EFFICIENCY)
    return list(filter(changed, ordered)), list(filterfalse(changed, ordered))


def headline(comparison: Comparison) -> str:
    """What happened to response time and throughput, or to the first measure that changed; then the others."""
    changed, _ = changed_rows(comparison)
    unjudged = sum(row.against_first[-1] is None for row in comparison.rows)
    if unjudged == len(comparison.rows):
        return "No measure could be judged: too few samples in a window."
    if not changed:
        left = f" {unjudged} could not be judged." if unjudged else ""
        return f"No measure changed beyond chance.{left}"
    main = _main(changed)
    count = Counter(row.verdict for row in comparison.rows if row is not main)
    # Where less gets done, figures that fall are no gain.
    less = main.verdict == "worse" and _fell(comparison)
    words = ("worse",) if less else ("better", "worse", "changed")
    others = [as_count(count[verdict], *_OTHERS[verdict]) for verdict in words if count[verdict]]
    if less:
        others.insert(0, f"transactions per second fell by {less:.1%}")
    if count[NO_EVIDENCE]:
        others.append(f"no evidence in {count[NO_EVIDENCE]}")
    sentence = "; ".join([f"{main.title}: {_outcome(main)}", *others])
    spot = sweet_spot(comparison)
    return f"{sentence}; sweet spot: {spot.name}." if spot else f"{sentence}."


def _main(changed: Sequence[ComparisonRow]) -> ComparisonRow:
    """What users feel first: a loss before a gain."""
    effects = [row for key in EFFECTS for row in changed if row.key == key]
    order = (("worse", effects), ("better", effects), ("better worse changed", changed))
    found = (row for verdicts, rows in order for row in rows if row.verdict in verdicts.split())
    return next(found, changed[0])


def _fell(comparison: Comparison) -> float:
    """The share by which transactions per second fell beyond chance; 0 if they did not."""
    for row in comparison.rows:
        difference = row.against_first[-1]
        if row.key == LOAD and difference and difference.verdict == "worse":
            return -difference.relative
    return 0.0


def _outcome(row: ComparisonRow) -> str:
    first, last = row.values[0], row.values[-1]
    difference = row.against_first[-1]
    if first is None or last is None or difference is None:
        return "no data in one of the windows"
    relative = "" if math.isnan(difference.relative) else f" by {abs(difference.relative):.1%}"
    figures = f"{row.measure.show(first)} -> {row.measure.show(last)}"
    return f"{difference.verdict}{relative if difference.verdict != NO_EVIDENCE else ''} ({figures})"
