"""Changes and outliers of generated series whose truth is known."""

import math
import random

import pytest

from ase_exporter.compare.levels import levels, outliers

SEEDS = range(60)


def noise(rng: random.Random, count: int, correlation: float = 0.0) -> list[float]:
    """Normal noise with a standard deviation of 1, each value like the one before it as much as that."""
    values = [rng.gauss(0, 1)]
    for _ in range(count - 1):
        values.append(correlation * values[-1] + math.sqrt(1 - correlation**2) * rng.gauss(0, 1))
    return values


def daily(rng: random.Random, count: int) -> list[float]:
    """Hourly values of a load that goes up and down every day."""
    return [10 * math.sin(2 * math.pi * hour / 24) + rng.gauss(0, 1) for hour in range(count)]


@pytest.mark.parametrize("count", [20, 100, 400])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_noise_has_one_level_and_no_outliers(count: int, correlation: float) -> None:
    found = [noise(random.Random(seed), count, correlation) for seed in SEEDS]
    assert sum(len(levels(values)) > 2 for values in found) <= len(found) * 0.05
    assert sum(bool(outliers(values)) for values in found) <= len(found) * 0.1


def test_a_daily_load_has_one_level() -> None:
    assert [levels(daily(random.Random(seed), 240)) for seed in SEEDS] == [[0, 240]] * len(SEEDS)


def raised(values: list[float], by: float, start: int, end: int | None = None) -> list[float]:
    """The values, of which some are higher."""
    places = range(start, len(values) if end is None else end)
    return [value + (by if place in places else 0.0) for place, value in enumerate(values)]


@pytest.mark.parametrize("count", [30, 100, 400])
def test_a_step_is_found_where_it_is(count: int) -> None:
    near = 0
    for seed in SEEDS:
        rng = random.Random(seed)
        at = rng.randrange(count // 3, 2 * count // 3)
        bounds = levels(raised(noise(rng, count), 5.0, at))
        near += len(bounds) == 3 and abs(bounds[1] - at) <= 1
    assert near >= 0.95 * len(SEEDS)


def test_an_incident_and_its_end_are_found() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        start = rng.randrange(50, 150)
        bounds = levels(raised(noise(rng, 300), 6.0, start, start + 60))
        assert len(bounds) == 4 and abs(bounds[1] - start) <= 2 and abs(bounds[2] - start - 60) <= 2


def test_an_exact_step_is_found_without_noise() -> None:
    assert levels([1.0] * 7 + [2.0] * 9) == [0, 7, 16]


def test_spikes_are_outliers_also_beside_a_step() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        places = sorted(rng.sample(range(10, 190, 8), 3))
        values = raised(noise(rng, 200), 8.0, 100)
        for place in places:
            values[place] += 30.0
        assert set(places) <= set(outliers(values))
        assert len(outliers(values)) <= len(places) + 1


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [0.0] * 50])
def test_little_or_constant_data_says_nothing(values: list[float]) -> None:
    assert levels(values) == [0, len(values)]
    assert outliers(values) == {}
