"""The incident benchmark: what the diagnosis says of incidents whose truth is known, in simulated time."""

import pytest
from tests.exporter.advise.test_advice import printed
from tests.incidents.running import FIELD, Site, incidents, take
from tests.incidents.scoring import POINTS, USUAL, by_number, score, scores

from ase_exporter.advise.advice import advise
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.top.frames import frame

# Kinds of incident, and the points over them: at least so many, also on other servers and with other random numbers.
KINDS, MIXED = 24, 6
REACHED = 88
ELSEWHERE = [Site(seed, engines) for engines in (4, 32, 128) for seed in (1, 2)] + [Site(seed=2)]
# Of every build: incidents of each way to be made, with all points; users by the thousand are on a small server.
SAMPLE = {
    "data_cache_spinlock": Site(engines=4),
    "log_semaphore": USUAL,
    "tempdb_catalogue": USUAL,
    "blocking": USUAL,
}


@pytest.mark.parametrize(("name", "site"), SAMPLE.items())
def test_a_sample_of_incidents_is_understood(name: str, site: Site) -> None:
    found = score(incidents()[name], site)
    assert found.points == POINTS and not found.all_clears, found


EASED = {
    "log_semaphore": "'user log cache size'",
    "blocking": "kill 77",
    "full_log": "dump transaction orders",
    "tempdb_catalogue": "sp_tempdb 'add'",
    "locks": "'number of locks'",
    "compiling": "'procedure cache size'",
    "checkpoint": "'housekeeper free write percent'",
    # Where the cause is outside of the server, words say what to do.
    "slow_device": "",
}


@pytest.mark.parametrize(("incident", "statement"), EASED.items())
def test_what_eases_an_incident_comes_first(incident: str, statement: str) -> None:
    shown = frame(take(incidents()[incident], USUAL).after[-1])
    assert shown.evidence
    advice = advise(shown.evidence)
    first = advice.causes[0]
    assert first.finding.name in incidents()[incident].truth.first
    statements = [each for step in first.steps for each in step.statements]
    assert any(statement in each for each in statements) if statement else statements == []
    assert statement or "the storage" in printed(advice)


@pytest.mark.slow
@pytest.mark.parametrize("site", [USUAL, *ELSEWHERE], ids=str)
def test_the_diagnosis_reaches_its_points(site: Site) -> None:
    found = by_number({name: each.points for name, each in scores(site).items()})
    assert sorted(found) == list(range(1, KINDS + 1))
    assert sum(found.values()) >= REACHED, f"of {POINTS * KINDS}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("site", [USUAL, *ELSEWHERE], ids=str)
def test_no_incident_is_called_well(site: Site) -> None:
    """A sentence that says that nothing was compared with before leaves open what only that would show."""
    assert {name: each.all_clears for name, each in scores(site).items() if each.all_clears} == {}


@pytest.mark.slow
@pytest.mark.parametrize("site", [Site(engines=engines) for engines in (1, 2, 4, 32, 128)], ids=str)
def test_states_of_the_field_are_understood(site: Site) -> None:
    """Of one engine, there is no half, and what it lacks while it idles is lost in its whole seconds: not known."""
    possible = {
        name: each
        for name, each in incidents(FIELD).items()
        if site.engines > 1 or not any("<" in engines for engines in each.busy)
    }
    found = {name: score(each, site) for name, each in possible.items()}
    assert len(found) > 40
    assert {name: each for name, each in found.items() if each.all_clears} == {}
    lacking = {name for name, each in found.items() if each.points < POINTS}
    assert lacking == ({"steal_idle"} if site.engines == 1 else set())


@pytest.mark.slow
def test_mixed_incidents_are_understood() -> None:
    mixed = {name: scores()[name] for name, each in incidents().items() if each.number is None}
    assert len(mixed) == MIXED
    assert {name: each.state for name, each in mixed.items() if not each.right} == {}


@pytest.mark.slow
@pytest.mark.parametrize("site", [USUAL, Site(seed=2)])
def test_the_share_that_spins_is_that_of_the_model(site: Site) -> None:
    loads = [each for name, each in scores(site).items() if incidents()[name].scenario]
    assert sum(each.measured is not None and each.spinning > 0.5 for each in loads) >= 6
    assert [each for each in loads if each.measured and abs(each.measured - each.spinning) > 0.02] == []


@pytest.mark.slow
def test_what_is_said_to_spin_spins_in_the_model() -> None:
    for name, incident in incidents().items():
        spins = scores()[name].spinning >= threshold("cpu.spinning_warning")
        assert not incident.scenario or spins == (
            "spinning" in (*incident.truth.first, *incident.truth.also)
        ), name
