"""Verdicts are as sure as they say: seldom on noise, nearly always on a true difference."""

import math

import numpy as np
import pytest

from ase_exporter.compare.statistics import MIN_SAMPLES, Samples, _student, compare

TEN_MINUTES = 40  # samples at 15 s


def noise(generator: np.random.Generator, count: int, correlation: float) -> Samples:
    """A stationary AR(1) process of variance 1."""
    warmup = 100
    innovations = generator.normal(size=count + warmup) * math.sqrt(1 - correlation**2)
    values = np.zeros(count + warmup)
    for i in range(1, count + warmup):
        values[i] = correlation * values[i - 1] + innovations[i]
    return values[warmup:]


def alarms(trials: int, count: int, correlation: float, seed: int, rise: float = 0.0) -> float:
    """The share of trials that give a verdict; rise: the true difference, in standard deviations."""
    generator = np.random.default_rng(seed)
    verdicts = []
    for trial in range(trials):
        before, after = (noise(generator, count, correlation) for _ in range(2))
        verdicts.append(compare(before, after + rise, good="higher", seed=trial).verdict)
    return sum(verdict == "better" if rise else verdict != "no evidence" for verdict in verdicts) / trials


SLOW = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("trials", [150, pytest.param(2000, marks=SLOW)])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("count", [TEN_MINUTES, pytest.param(120, marks=SLOW)])
def test_no_difference_is_called_one_at_the_stated_rate_at_most(
    trials: int, correlation: float, count: int
) -> None:
    # More only once in ten thousand runs.
    assert alarms(trials, count, correlation, seed=1) <= 0.05 + 3.7 * math.sqrt(0.05 * 0.95 / trials)


def test_a_true_difference_of_five_percent_is_found_under_noise_of_five_percent() -> None:
    assert alarms(150, TEN_MINUTES, 0.0, seed=3, rise=1.0) > 0.9


def test_the_interval_holds_the_difference_and_the_direction_of_good_decides() -> None:
    generator = np.random.default_rng(4)
    low, high = 10 + noise(generator, 60, 0.0), 20 + noise(generator, 60, 0.0)
    rise = compare(low, high, good="higher")
    assert rise.low < rise.difference < rise.high
    assert rise.low > 8 and rise.high < 12
    assert (rise.verdict, compare(low, high, good="lower").verdict) == ("better", "worse")
    assert compare(low, high, good="neither").verdict == "changed"
    assert rise.relative == pytest.approx(1.0, abs=0.1)


def test_a_difference_too_small_to_matter_is_no_verdict() -> None:
    before, after = np.full(40, 1.0), np.full(40, 1.001)
    assert compare(before, after, good="lower").verdict == "worse"
    assert compare(before, after, good="lower", min_difference=0.01).verdict == "no evidence"
    assert compare(before, after, good="lower", min_share=0.01).verdict == "certain but small"
    assert compare(before, 20 * after, good="lower", min_share=0.01).verdict == "worse"


def test_constant_windows_that_agree_and_one_spike_are_no_evidence() -> None:
    result = compare(np.zeros(40), np.zeros(40), good="lower")
    assert (result.verdict, result.difference) == ("no evidence", 0.0)
    assert math.isnan(result.relative)
    generator = np.random.default_rng(5)
    before, after = 10 + noise(generator, 40, 0.0), 10 + noise(generator, 40, 0.0)
    after[7] = 10_000
    assert compare(before, after, good="lower").verdict == "no evidence"


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="7 samples after"):
        compare(np.zeros(40), np.zeros(MIN_SAMPLES - 1), good="lower")


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (5, 2.571), (30, 2.042), (1000, 1.962)]
)
def test_students_quantiles_are_those_of_the_tables(freedom: float, quantile: float) -> None:
    assert _student(0.95, freedom) == pytest.approx(quantile, abs=0.001)
