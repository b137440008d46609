"""What top says of the simulator's scenarios: the verdict, and the spinlock that the scenario is about."""

import pytest
from tests.exporter.clocks import StandingClock
from tests.exporter.top.watching import watched

from ase_exporter.config import Module


def test_cpu_figures_wait_for_a_few_seconds() -> None:
    with watched("quiet-oltp") as watching:
        first = watching.frame()
        assert first.diagnosis.state == "starting" and first.figures.spinlocks == ()
        assert {first.figures.cpu_busy, first.figures.spinning, first.figures.hottest} == {None}
        second, third = watching.frame(2.0), watching.frame(2.0)
    # What whole seconds are counted for is known only after a few of them.
    assert second.figures.cpu_busy is None and second.figures.waits == ()
    assert third.figures.seconds == pytest.approx(4.0)
    assert third.figures.cpu_busy is not None and third.figures.waits
    assert third.diagnosis.state == "works"


def test_a_server_without_spinlock_monitoring_says_so() -> None:
    with watched("quiet-oltp", version="15.5") as watching:
        shown = list(watching.frames(3, 10.0))[-1]
    assert shown.sample.missing["spinlocks"] == "version"
    assert shown.diagnosis.state == "not_known"
    assert "this version of ASE lacks it (collector spinlocks)" in shown.diagnosis.text
    assert shown.figures.spinlocks == () and shown.figures.spinning is None
    assert shown.figures.cpu_busy


def test_a_collector_that_the_configuration_switches_off_stays_off() -> None:
    module = Module(collectors={"waits": False})
    with watched("quiet-oltp", module=module) as watching:
        shown = list(watching.frames(2, 10.0))[-1]
    assert shown.figures.waits == ()


@pytest.mark.slow
def test_a_cluster_is_one_server_whose_parts_are_summed() -> None:
    with watched("quiet-oltp", version="15.7 SP138 CE") as watching:
        shown = list(watching.frames(3, 10.0))[-1]
    assert len({spinlock.name for spinlock in shown.figures.spinlocks}) == len(shown.figures.spinlocks)
    assert shown.figures.cpu_busy and shown.figures.cpu_busy <= 1.0


def test_the_budget_bounds_what_a_short_interval_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    def passing(clock: StandingClock) -> float:
        """Time that passes whenever somebody looks."""
        clock.ahead += 0.0001
        return clock.ahead

    monkeypatch.setattr(StandingClock, "monotonic", passing)
    with watched("quiet-oltp", interval=1.0, budget=0.000001) as watching:
        shown = list(watching.frames(12, 1.0))[-1]
    assert shown.sample.budget == 0.000001 and shown.sample.stretched
