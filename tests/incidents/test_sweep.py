"""How often the diagnosis is wrong where each cause grows from nothing to severe: the confusion of sweep.py."""

from collections.abc import Mapping, Sequence
from itertools import chain

import pytest
from tests.incidents.running import Site
from tests.incidents.sweep import CAUSES, SITES, State, confusion, sweep

# Shares of the states that are ill, and for alarms of those that are well.
ACCEPTED = {"all-clear": 0.01, "alarm": 0.02, "cause not first": 0.10, "cause not within two": 0.05}
# A cause of each kind, absent and severe, where no mistake is allowed.
SAMPLE = ("log", "spinning", "quiet", "log space")


def share(found: Mapping[str, Sequence[State]], mistake: str) -> float:
    """Of the states of which it could be said; prints those of which it was."""
    among = found["well" if mistake == "alarm" else "ill"]
    print(f"{mistake}: {len(found[mistake])} of {len(among)}", *found[mistake], sep="\n  ")
    return len(found[mistake]) / len(among)


@pytest.mark.slow
def test_a_sample_of_the_sweep_has_no_mistake() -> None:
    found = confusion(list(sweep(Site(engines=4), SAMPLE, every=7)))
    assert len(found["ill"]) >= 6 and len(found["well"]) >= 4
    assert [share(found, each) for each in ("all-clear", "alarm", "cause not within two")] == [0, 0, 0]


@pytest.mark.slow
def test_the_sweep_has_hardly_any_mistakes() -> None:
    states = list(chain.from_iterable(map(sweep, SITES)))
    assert len(states) == len(SITES) * sum(2 * len(each.strengths) for each in CAUSES.values())
    found = confusion(states)
    assert len(found["ill"]) > 250 and len(found["well"]) > 250
    for mistake, most in ACCEPTED.items():
        assert share(found, mistake) <= most, mistake
