"""The incident benchmark: what the diagnosis says of incidents whose truth is known, in simulated time."""

import pytest
from tests.incidents.running import Site, incidents
from tests.incidents.scoring import KINDS, POINTS, REACHED, by_number, scores
from tests.incidents.table import PAGE, page

from ase_exporter.diagnosis.catalogue import threshold

pytestmark = pytest.mark.slow

MIXED = 6


def test_the_diagnosis_reaches_its_points() -> None:
    found = by_number({name: each.points for name, each in scores().items()})
    assert sorted(found) == list(range(1, KINDS + 1))
    assert sum(found.values()) >= REACHED, f"of {POINTS * KINDS}: {found}"


def test_the_page_is_up_to_date() -> None:
    """python -m tests.incidents.table writes it."""
    assert PAGE.read_text(encoding="utf-8").splitlines() == "\n".join(page()).splitlines()


def test_mixed_incidents_are_understood() -> None:
    mixed = {name: scores()[name] for name, each in incidents().items() if each.number is None}
    assert len(mixed) == MIXED
    assert {name: each.state for name, each in mixed.items() if each.seconds is None} == {}


def test_no_incident_is_called_well() -> None:
    """A sentence that says that nothing was compared with before leaves open what only that would show."""
    assert {name: each.all_clears for name, each in scores().items() if each.all_clears} == {}


@pytest.mark.parametrize("site", [Site(), Site(seed=2)])
def test_the_share_that_spins_is_that_of_the_model(site: Site) -> None:
    loads = [each for name, each in scores(site).items() if incidents()[name].scenario]
    assert sum(each.measured is not None and each.spinning > 0.5 for each in loads) >= 6
    assert [each for each in loads if each.measured and abs(each.measured - each.spinning) > 0.02] == []


def test_what_is_said_to_spin_spins_in_the_model() -> None:
    for name, incident in incidents().items():
        spins = scores()[name].spinning >= threshold("cpu.spinning_warning")
        assert not incident.scenario or spins == (
            "spinning" in (*incident.truth.first, *incident.truth.also)
        ), name
