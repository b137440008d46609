"""With a monitoring option or a collector off, what it blinds is not known, and it is named."""

from collections.abc import Collection
from pathlib import Path

import pytest
from tests.exporter.diagnosis.states import State, generated
from tests.exporter.top.watching import altered, watched

from ase_exporter.catalogue import load_catalogue
from ase_exporter.diagnosis.catalogue import OF_ACCOUNT, FindingDefinition, catalogue
from ase_exporter.diagnosis.diagnose import Diagnosis, diagnose
from ase_exporter.diagnosis.provenance import collector_of
from ase_exporter.readings import live

COLLECTORS = load_catalogue()[0].collectors
# So many states at least, and until each finding was not known in one of them; and what else might have been read.
STATES, MAX_STATES, OTHERS = 4, 1000, 4


def collectors_of(finding: FindingDefinition) -> set[str]:
    """The collectors of the metrics by which a finding is judged."""
    known = catalogue()
    names = {name for limits in finding.when for name in limits}
    found = {
        selection.metric
        for name in names - OF_ACCOUNT
        for selection in known.measures[known.measures[name].compared or name].selections
    }
    found |= {"ase_wait_seconds_total"} if names & OF_ACCOUNT else set()
    return {collector_of(metric) for metric in found} - {""}


def off(option: str) -> set[str]:
    """The collectors that an option switches off."""
    return {name for name, each in COLLECTORS.items() if option in each.options}


def blinded(collectors: Collection[str]) -> set[str]:
    """The findings that depend on collectors."""
    return {name for name, each in catalogue().findings.items() if collectors_of(each) & set(collectors)}


DEPENDED_ON = sorted(set().union(*map(collectors_of, catalogue().findings.values())))
OPTIONS = sorted({option for each in COLLECTORS.values() for option in each.options if blinded(off(option))})
# What can be switched off, and the collectors that this costs.
SWITCHES = {option: off(option) for option in OPTIONS} | {name: {name} for name in DEPENDED_ON}


def filled(seed: int, other: int, collectors: Collection[str]) -> State:
    """A state with everything that some collectors read taken from another one."""
    state, source = generated(seed), generated(other)
    state.switched_off, source.switched_off = set(), set()
    kept = {key: value for key, value in state.series.items() if collector_of(key[0]) not in collectors}
    taken = {key: value for key, value in source.series.items() if collector_of(key[0]) in collectors}
    state.series = kept | taken
    state.momentary = {name for name in state.momentary if collector_of(name) not in collectors}
    return state


def holds(found: Diagnosis, name: str) -> bool | None:
    """Whether a finding holds; None if that is not known, or if one that says more is shown in its place."""
    shown = {each.name for each in found.findings}
    if name in shown:
        return True
    open_ = {each.name for each in found.unknown} | shown
    return None if {name, *catalogue().findings[name].unless} & open_ else False


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_is_switched_off_is_not_known_and_named(switch: str) -> None:
    """With an option off, a finding that is judged nevertheless is the same whatever was there to be read."""
    collectors = SWITCHES[switch]
    depend, open_ = blinded(collectors), set[str]()
    for seed in range(MAX_STATES):
        if seed >= STATES and depend <= open_:
            break
        state = generated(seed)
        state.switched_off = collectors
        state.options = {switch: 0.0} if switch in OPTIONS else {}
        found = diagnose(state)
        unknown = {each.name: each.reason for each in found.unknown}
        assert all(f"{switch} is off" in unknown[name] for name in depend & unknown.keys()), seed
        if any(catalogue().findings[name].vital for name in unknown):
            assert found.state not in ("works", "idle"), seed
        judged = depend - unknown.keys()
        others = range(seed + 1, seed + 1 + OTHERS) if judged and switch in OPTIONS else ()
        diagnoses = [found, *(diagnose(filled(seed, other, collectors)) for other in others)]
        for name in judged:
            assert len({holds(each, name) for each in diagnoses} - {None}) <= 1, (seed, name)
        open_ |= unknown.keys()
    assert depend <= open_


def test_the_options_that_matter_are_among_them() -> None:
    assert {"enable monitoring", "enable spinlock monitoring", "wait event timing"} <= set(OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_a_scrape_without_the_option_names_it(option: str, tmp_path: Path) -> None:
    scenario = altered("quiet-oltp", tmp_path, lambda content: content["options"].update({option: 0}))
    with watched(scenario) as watching:
        watching.frame()
        watching.time.ahead += 5
        sample = watching.sampler.take()
    dark = [name for name in live.COLLECTORS if name in off(option)]
    assert dark or option.startswith(("errorlog", "per object"))
    for name in dark:
        for metric in COLLECTORS[name].metrics:
            assert option in sample.unknown(metric, is_rate=False), metric
