"""A comparison on a terminal of 80 columns: one sentence, then what changed; no name is cut."""

from dataclasses import replace

import numpy as np

from ase_exporter.compare.comparison import Comparison, ComparisonRow, WindowSamples
from ase_exporter.compare.measures import measures
from ase_exporter.compare.statistics import compare
from ase_exporter.compare.view import comparison_view, headline
from ase_exporter.compare.windows import Span
from ase_exporter.views.terminal import text

LONG = "the cache of the tables of the department of things with long names"


def row(key: str, before: float, after: float, name: str = "") -> ComparisonRow:
    generator = np.random.default_rng(1)
    windows = [
        WindowSamples(np.arange(40.0), level * (1 + 0.01 * generator.normal(size=40)), level)
        for level in (before, after)
    ]
    measure = measures()[key]
    difference = compare(
        windows[0].values,
        windows[1].values,
        good=measure.good,
        min_difference=measure.min_difference,
        min_share=measure.min_share,
        figures=(before, after),
    )
    return ComparisonRow(key, measure, name, tuple(windows), (difference,), (difference,), (None,))


RESULT = Comparison(
    selector='instance="ASE1"',
    spans=(Span("before", 0, 600, ("120 s less: after option: TSX 0 -> 1",)), Span("after", 660, 1260)),
    rows=(
        row("cpu_busy", 0.894, 0.863),
        row("transactions", 108_326, 108_326),
        row("throughput_per_cpu_unit", 91.1, 108.6),
        row("cache_contention", 0.021, 0.040, LONG),
    ),
    step=15,
)


def printed(*, everything: bool = False, result: Comparison = RESULT) -> list[str]:
    return text(comparison_view(result, everything=everything)).splitlines()


def test_the_first_line_is_the_verdict_in_one_sentence() -> None:
    assert headline(RESULT) == (
        "Transactions per CPU unit: better by 19.2% (91.1 -> 108.6);"
        " 1 other is worse; 1 other changed; no evidence in 1."
    )
    assert " ".join(printed()[:2]).startswith("Transactions per CPU unit: better by 19.2%")


def test_what_changed_comes_first_and_the_rest_is_folded_away_unless_asked_for() -> None:
    words = " ".join(" ".join(printed()).split())
    assert words.index("Transactions per CPU unit better") < words.index("CPU busy changed")
    assert "Transactions per second" not in words
    assert "1 measure without evidence of a difference: see --all" in words
    whole = " ".join(" ".join(printed(everything=True)).split())
    assert "Transactions per second no evidence" in whole


def test_the_difference_is_that_of_the_figures_beside_it() -> None:
    lines = printed()
    words = " ".join(" ".join(lines).split())
    assert "CPU busy changed, before 89.40%, after 86.30%, difference [interval] -3.10 pp [" in words
    # Windows say how much was cut.
    assert "120 s less: after option: TSX 0 -> 1" in words


def test_a_comparison_without_a_change_or_without_judged_measures_says_so() -> None:
    same = replace(RESULT, rows=(row("transactions", 100, 100),))
    assert printed(result=same)[0] == "No measure changed beyond chance."
    unjudged = tuple(replace(row("transactions", 100, 10), against_first=(None,)) for _ in range(2))
    assert printed(result=replace(RESULT, rows=unjudged))[0].startswith("No measure could be judged")


def test_what_is_certain_but_small_is_neither_better_nor_worse() -> None:
    small = row("throughput_per_cpu_unit", 1000, 992)
    said = printed(result=replace(RESULT, rows=(row("cpu_busy", 0.5, 0.6), small)))
    assert said[0].startswith("CPU busy: changed by 20.0% (50.00% -> 60.00%); 1 other differs by under 1%.")
    assert "Transactions certain but 1,000 992 -8" in " ".join(" ".join(said).split())
    alone = headline(replace(RESULT, rows=(small,)))
    assert alone == "Transactions per CPU unit: certain but small, by 0.8% (1,000 -> 992)."


def test_figures_that_fall_because_less_gets_done_are_no_gain() -> None:
    rows = (row("cpu_busy", 80, 10), row("response_time", 10, 90), row("transactions", 1000, 80))
    said = " ".join(printed(result=replace(RESULT, rows=rows))[:3])
    assert said.startswith("Milliseconds in the server per transaction: worse by 800.0%")
    assert "transactions per second fell by 92.0%" in said and "better" not in said.split(".")[0]
