"""Windows that a server was seen in only in part: figures are those of the part that is told, or there is none."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.exporter.compare.conftest import HISTORY_BEFORE, prometheus_with

from ase_exporter.compare.comparison import compare_windows
from ase_exporter.compare.coverage import Coverage
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.windows import Span
from ase_exporter.errors import UserError

pytestmark = pytest.mark.e2e
INTERVAL, LENGTH, CASES = 15.0, 1200.0, 60
# So many of the cases must give figures: saying nothing at all would be right, too.
TOLD = CASES / 2
# What `rate` extrapolates at either end, where the load changes meanwhile.
CLOSE = 0.03


@dataclass
class Case:
    """One server over a window. lost: spans without a scrape; down: spans in which scrapes fail.

    began: times from which its exporter counts from zero, without what it saved.
    """

    name: str
    window: Span
    lost: list[tuple[float, float]] = field(default_factory=list)
    down: list[tuple[float, float]] = field(default_factory=list)
    began: list[float] = field(default_factory=list)

    def transactions(self, at: float) -> float:
        """The counter inside of the server, whose load rises slowly."""
        passed = at - self.window.start + 2 * LENGTH
        return 800 * passed + 0.04 * passed**2

    def rate(self, start: float, end: float) -> float:
        return (self.transactions(end) - self.transactions(start)) / (end - start)

    def lines(self, dice: random.Random) -> Iterator[str]:
        """The samples of each scrape."""
        at = self.window.start - LENGTH + dice.uniform(0, INTERVAL)
        while at < self.window.end + LENGTH / 2:
            at += INTERVAL * dice.uniform(0.98, 1.02)
            if any(start <= at <= end for start, end in self.lost):
                continue
            up = not any(start <= at <= end for start, end in self.down)
            yield f'ase_up{{instance="{self.name}"}} {int(up)} {at}'
            if not up:
                continue
            since = max((each for each in self.began if each <= at), default=None)
            total = self.transactions(at) - (self.transactions(since) if since else -HISTORY_BEFORE)
            figures = {
                "ase_transactions": ("", total),
                "ase_engine_cpu_seconds": (',engine="0",mode="user"', total / 1000),
                "ase_spinlock_grabs": (',class="other",spinlock="one"', total * 10),
                "ase_spinlock_spins": (',class="other",spinlock="one"', total),
                "ase_spinlock_waits": (',class="other",spinlock="one"', total / 2),
            }
            for metric, (labels, value) in figures.items():
                yield f'{metric}_total{{instance="{self.name}"{labels}}} {value!r} {at}'


def generated(number: int, dice: random.Random) -> Case:
    """A window with gaps at its start, in its middle or at its end, and exporters that start from zero."""
    start = time.time() // 60 * 60 - 3 * LENGTH
    case = Case(f"S{number}", Span("window", start, start + LENGTH))
    for place in dice.sample(["start", "middle", "end", "none"], dice.randint(1, 3)):
        seconds = dice.choice([20.0, 50.0, 100.0, 300.0, 600.0])
        gap = {
            "start": (start - dice.choice([30.0, 2 * LENGTH]), start + seconds),
            "middle": (at := start + dice.uniform(100, LENGTH - 700), at + seconds),
            "end": (start + LENGTH - seconds, start + LENGTH + dice.choice([30.0, 2 * LENGTH])),
            "none": (at, at),
        }[place]
        dice.choice([case.lost, case.down]).append(gap)
        if dice.random() < 0.3:
            case.began.append(gap[1])
    return case


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, list[Case]]]:
    dice = random.Random(4)
    made = [generated(number, dice) for number in range(CASES)]
    samples = (line for case in made for line in case.lines(dice))
    with prometheus_with(samples, tmp_path_factory.mktemp("past")) as url, Prometheus(url) as server:
        yield server, made


def test_compare_takes_the_covered_part_and_says_so(cases: tuple[Prometheus, list[Case]]) -> None:
    prometheus, made = cases
    known = 0
    for case in made:
        try:
            result = compare_windows(
                prometheus, server_selector(case.name), [case.window, case.window], keys=["transactions"]
            )
        except UserError:
            continue
        span = result.spans[0]
        found = result.rows[0].windows[0]
        assert found is not None and found.overall is not None
        assert found.overall == pytest.approx(case.rate(span.start, span.end), rel=CLOSE), case
        assert bool(span.cuts) == (span.seconds < LENGTH)
        for at, value in zip(found.times, found.values, strict=True):
            assert value == pytest.approx(case.rate(at - 2.5 * INTERVAL, at), rel=CLOSE), (case, at)
        known += 1
    assert known > TOLD


def test_a_window_between_two_scrapes_is_not_known() -> None:
    times = np.array([100.0, 115.0, 130.0])
    assert Coverage(Span("window", 140.0, 200.0), times, 15.0, np.array([0])).stretch() is None
