"""How often the diagnosis is wrong where each cause grows from nothing to severe: the confusion of sweep.py."""

from itertools import chain

import pytest
from tests.incidents.running import Site
from tests.incidents.sweep import CAUSES, SITES, Confusion, confusion, sweep

# Shares of the states that are ill, and of those that are well.
ALL_CLEARS, ALARMS, FIRST, WITHIN_TWO = 0.01, 0.02, 0.90, 0.95
# A cause of each kind, absent and severe, where no mistake is allowed.
SAMPLE = ("log", "spinning", "quiet", "log space")


def mistakes(found: Confusion) -> str:
    wrong = {"all-clear": found.all_clears, "alarm": found.alarms, "cause not within two": found.not_second}
    return "\n".join([str(found), *(f"{kind}: {each}" for kind, states in wrong.items() for each in states)])


@pytest.mark.slow
def test_a_sample_of_the_sweep_has_no_mistake() -> None:
    found = confusion(list(sweep(Site(engines=4), SAMPLE, every=7)))
    assert found.ill >= 6 and found.well >= 4
    assert not found.all_clears and not found.alarms and not found.not_second, mistakes(found)


@pytest.mark.slow
def test_the_sweep_has_hardly_any_mistakes() -> None:
    states = list(chain.from_iterable(map(sweep, SITES)))
    assert len(states) == len(SITES) * sum(2 * len(each.strengths) for each in CAUSES.values())
    found = confusion(states)
    assert found.ill > 250 and found.well > 250, found
    assert len(found.all_clears) <= ALL_CLEARS * found.ill, mistakes(found)
    assert len(found.alarms) <= ALARMS * found.well, mistakes(found)
    assert len(found.not_first) <= (1 - FIRST) * found.ill, mistakes(found)
    assert len(found.not_second) <= (1 - WITHIN_TWO) * found.ill, mistakes(found)
