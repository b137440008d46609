"""Remedies that advise prints are applied in the simulator's model: none loses, and predictions hold."""

import pytest
from tests.exporter.advise.gains import (
    DATA_CACHE,
    GENERATED,
    HOT,
    PAGE,
    Outcome,
    generated,
    outcomes,
    page,
    server,
    tables_of_a_hot_cache,
)

from ase_exporter.advise.remedies import remedies

# One of each kind; the others are slow tests.
KINDS = {
    "ratio": ("addrlockspins", server("addrlockspins")),
    "partitions": (DATA_CACHE, server(DATA_CACHE)),
    "system tables": (DATA_CACHE, tables_of_a_hot_cache(system=True)),
    "key tables": (DATA_CACHE, tables_of_a_hot_cache(system=False)),
}


def check(found: list[Outcome]) -> None:
    assert [each.finding for each in found if each.loses] == []
    assert [each.finding for each in found if each.disappoints] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_remedy_brings_what_is_predicted(kind: str) -> None:
    name, content = KINDS[kind]
    found = outcomes(content)
    (eased,) = (each for each in found if each.finding.spinlock.name == name)
    assert eased.gain and eased.gain.engines > 1 and eased.transactions > 0
    check(found)


def test_two_spinlocks_at_their_limit_lose_nothing() -> None:
    """Easing one of them alone loses throughput: those that wait spin on the other one, which is then held longer."""
    found = outcomes(server("Des Upd Spinlocks", "Ides Spinlocks"))
    (eased,) = (each for each in found if each.gain and each.gain.engines > 1)
    assert len(eased.finding.steps[0].statements) == 2
    check(found)


def test_a_remedy_whose_gain_is_not_known_has_no_number() -> None:
    (raised,) = outcomes(server("Resource->rproccache_spin"))
    assert raised.gain is None and "not known" in raised.finding.steps[0].promise
    check([raised])


def test_the_page_has_every_remedy() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for remedy in remedies().remedies:
        assert remedy.spinlock is None or f"| {remedy.spinlock} |" in text
    assert f"| {DATA_CACHE}, system tables |" in text and f"| {DATA_CACHE}, key tables |" in text
    assert " 0 of them lost throughput" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", HOT)
def test_each_remedy_brings_what_is_predicted(name: str) -> None:
    check(outcomes(server(name)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(GENERATED, 2 * GENERATED))
def test_no_remedy_loses_on_generated_servers(seed: int) -> None:
    check(outcomes(generated(seed)))


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    """python -m tests.exporter.advise.gains writes it."""
    assert PAGE.read_text(encoding="utf-8").splitlines() == "\n".join(page()).splitlines()
