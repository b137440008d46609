"""Calibration: the factors found for measured figures make the model show those figures."""

import pytest
from tests.simulator.model.calibration import Figures, fit
from tests.simulator.model.worlds import contention, one, total

from ase_simulator.model import load_scenario


def test_a_world_adjusted_by_the_fit_shows_the_figures_it_was_fitted_to() -> None:
    [server] = load_scenario("quiet-oltp", speed=0)
    cache = "default data cache"
    wanted = Figures(busy=0.6, per_cpu_unit=80.0, contention={cache: 0.2, "fglockspins": 0.05})
    world = server.world
    world.workload = world.workload.model_copy(update={"adjust": fit(world, wanted)})
    world.changed()
    found = contention(server, 10_000, wanted.contention)
    assert found == pytest.approx({cache: 20, "fglockspins": 5}, rel=0.01)
    busy = total(server, "monEngine", "UserCPUTime") + total(server, "monEngine", "SystemCPUTime")
    assert busy / total(server, "monEngine", "CPUTime") == pytest.approx(0.6, rel=0.01)
    cpu = (total(server, "monThread", "UserTime") + total(server, "monThread", "SystemTime")) / 1000
    assert one(server, "monState")["Transactions"] / cpu == pytest.approx(80, rel=0.01)


def test_unreachable_figures_raise_value_error() -> None:
    [server] = load_scenario("quiet-oltp", speed=0)
    with pytest.raises(ValueError, match="no demand"):
        fit(server.world, Figures(busy=0.9, per_cpu_unit=1e6, contention={"default data cache": 0.5}))
