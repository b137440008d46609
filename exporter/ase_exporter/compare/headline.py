"""The verdict on a comparison in one sentence, and its measures in order of relevance."""

import math
from collections import Counter

from ase_exporter.compare.comparison import EFFICIENCY, Comparison, ComparisonRow, sweet_spot

NO_EVIDENCE = "no evidence"


def changed_rows(comparison: Comparison) -> tuple[list[ComparisonRow], list[ComparisonRow]]:
    """The rows that changed beyond chance in any window, throughput per CPU unit first, and the others."""

    def changed(row: ComparisonRow) -> bool:
        differences = (*row.steps, *row.against_first)
        return any(each is not None and each.verdict != NO_EVIDENCE for each in differences)

    ordered = sorted(comparison.rows, key=lambda row: row.key != EFFICIENCY)
    return [row for row in ordered if changed(row)], [row for row in ordered if not changed(row)]


def headline(comparison: Comparison) -> str:
    """What happened to throughput per CPU unit, or to the first measure that changed, and how many others changed."""
    changed, _ = changed_rows(comparison)
    if not changed:
        return "No measure changed beyond chance."
    count = Counter(row.verdict for row in comparison.rows)
    main = next((row for row in changed if row.verdict in ("better", "worse", "changed")), changed[0])
    count[main.verdict] -= 1
    others = [
        f"{count[verdict]} more {verdict}" for verdict in ("better", "worse", "changed") if count[verdict]
    ]
    if count[NO_EVIDENCE]:
        others.append(f"no evidence in {count[NO_EVIDENCE]}")
    sentence = "; ".join([f"{main.title}: {_outcome(main)}", *others])
    spot = sweet_spot(comparison)
    return f"{sentence}; sweet spot: {spot.name}." if spot else f"{sentence}."


def _outcome(row: ComparisonRow) -> str:
    first, last = row.values[0], row.values[-1]
    difference = row.against_first[-1]
    if first is None or last is None or difference is None:
        return "no data in one of the windows"
    relative = "" if math.isnan(difference.relative) else f" by {abs(difference.relative):.1%}"
    figures = f"{row.measure.show(first)} -> {row.measure.show(last)}"
    return f"{difference.verdict}{relative if difference.verdict != NO_EVIDENCE else ''} ({figures})"
