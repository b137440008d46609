"""Capture, replay, capture: nothing changes on the way, and a replay gives the metrics of the original."""

import pytest
from tests.captures.make import CAPTURES, FOLDER, Source
from tests.exporter.capture.recorded import capture, record, replay, scrape

from ase_exporter.capture.file import Capture, comparable, lines, load
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_simulator.replay.file import parse


def samples(result: ScrapeResult) -> dict[str, dict[tuple[str, ...], float]]:
    """All series of the collectors of a scrape."""
    families: list[Family] = [family for each in result.collected.values() for family in each]
    return {family.name: {tuple(labels): value for labels, value in family.samples} for family in families}


def statements(taken: Capture) -> set[str]:
    """The statements without the names of user databases, whose pseudonyms differ."""
    return {each.sql for each in comparable(taken).statements if "..sysattributes a" not in each.sql}


@pytest.mark.parametrize("source", CAPTURES, ids=str)
def test_a_capture_of_a_replay_equals_the_capture_and_gives_the_same_metrics(source: Source) -> None:
    original: list[ScrapeResult] = []
    taken = record(source.version, source.scenario, source.plan, original, source.user)
    written = list(lines(taken))
    with replay(parse(written, "capture")) as address:
        again = capture(address, source.plan, user=source.user)
        replayed = list(
            scrape(address, source.plan.scrapes, everything=source.plan.everything, user=source.user)
        )
    assert list(lines(comparable(again))) == list(lines(comparable(taken)))
    for first, second in zip(original, replayed, strict=True):
        assert samples(second) == samples(first)
        assert len(samples(first)) > 5
        reasons = {name: outcome.reason for name, outcome in first.outcomes.items()}
        assert {name: outcome.reason for name, outcome in second.outcomes.items()} == reasons
        assert second.unavailable == first.unavailable
    committed = load(FOLDER / f"{source}.capture.gz")
    message = "`python -m tests.captures.make` writes the captures again"
    assert statements(committed) == statements(taken), message
