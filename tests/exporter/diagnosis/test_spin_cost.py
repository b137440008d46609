"""The cost of a spin by regression, against servers whose cost is known."""

import numpy as np
import pytest

from ase_exporter.diagnosis.spin_cost import cost_of_spins


@pytest.mark.parametrize("cost", [2e-9, 1e-8, 6e-8])
@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_the_true_cost(cost: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    transactions, spins = chance.uniform(500, 2000, 300), chance.uniform(1e7, 3e8, 300)
    cpu = 0.3 + 0.004 * transactions + cost * spins + chance.normal(0, 0.02, 300)
    found = cost_of_spins(cpu, transactions, spins)
    assert found
    seconds, low, high = found.values()
    assert low * 0.98 <= cost <= high * 1.02
    assert seconds == pytest.approx(cost, rel=0.1)
    # Two hours of three-minute samples are no history.
    assert cost_of_spins(cpu[:40], transactions[:40], spins[:40]) is None


def test_a_history_that_does_not_tell_gives_no_cost() -> None:
    chance = np.random.default_rng(1)
    load = chance.uniform(500, 2000, 300)
    noise = chance.normal(0, 1.0, 300)
    assert cost_of_spins(0.004 * load, load, 1e5 * load) is None
    assert cost_of_spins(0.004 * load + noise, load, chance.uniform(1e3, 1e4, 300)) is None
    assert cost_of_spins(load[:10], load[:10], load[:10]) is None
