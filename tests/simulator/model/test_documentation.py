"""The page lists every scenario; it or the docstring of its part explains every key."""

from dataclasses import fields

import pytest
from tests.paths import DOCS

from ase_simulator.faults import Faults
from ase_simulator.model.scenario import Scenario, names
from ase_simulator.model.timeline import StepSettings
from ase_simulator.model.workload import Batch, CacheWork, Database, Effect, Object, Strict, Workload

PAGE = (DOCS / "scenarios.md").read_text("utf-8")
PARTS = [Scenario, Workload, Database, Object, CacheWork, Effect, Batch, StepSettings, Faults]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_key_of_a_scenario_is_explained(part: type) -> None:
    keys = (
        part.model_fields if issubclass(part, Strict) else [each.name for each in fields(Faults) if each.init]
    )
    assert part.__doc__
    assert [key for key in keys if key not in PAGE and key not in part.__doc__] == []


@pytest.mark.parametrize("name", names())
def test_every_scenario_is_listed(name: str) -> None:
    assert f"`{name}`" in PAGE
