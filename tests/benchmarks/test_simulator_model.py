"""What the model costs: to let time pass, to settle after a change, and to fill the tables of a scrape."""

import time
from collections.abc import Callable
from statistics import median

from ase_simulator.model import load_scenario

SCRAPE = ("monState", "monEngine", "monThread", "monThreadPool", "monSpinlockActivity", "monDataCache")
REPEATS = 20


def _median_ms(action: Callable[[], object]) -> float:
    took = []
    for _ in range(REPEATS):
        started = time.process_time()
        action()
        took.append(time.process_time() - started)
    return median(took) * 1000


def test_128_engines_and_two_thousand_spinlocks() -> None:
    [server] = load_scenario("memscale", speed=0)
    slots = len(list(server.table("monSpinlockActivity")))

    def settle() -> None:
        server.world.changed()
        assert server.world.operation.point.throughput > 0

    passing = _median_ms(lambda: server.advance(5))
    settling = _median_ms(settle)
    reading = _median_ms(lambda: [list(server.table(table)) for table in SCRAPE])
    print(
        f"\nsimulated, {len(server.world.online)} engines, {slots} spinlocks: time passes {passing:.2f} ms, "
        f"a change settles {settling:.1f} ms, {len(SCRAPE)} tables {reading:.1f} ms of CPU"
    )
    assert passing < 20
    assert settling < 200
    assert reading < 100
