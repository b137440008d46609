"""Advice on what the diagnosis finds, whatever it is: what comes first, what it may gain, and what it may cost."""

from dataclasses import replace

import pytest
from tests.exporter.advise.test_advice import printed
from tests.exporter.diagnosis.states import State, generated, healthy

from ase_exporter.advise.advice import MIN_SHARE, Advice, Cause, advise
from ase_exporter.advise.evidence import Evidence, evidence_of
from ase_exporter.advise.remedies import AdviceStep, remedies
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import NO_BASELINE, Baseline, diagnose

OPTIONS = {
    "number of user connections": 300,
    "number of locks": 200_000,
    "procedure cache size": 100_000,
    "user log cache size": 4096,
    "max memory": 10_000_000,
    "total logical memory": 9_900_000,
}
USUAL = Baseline(
    {"reads_per_transaction": 0.5, "cpu_per_transaction": 1e-4, "busy": 0.01, "reads": 1.0}, {}, {}
)
STATES = 100


def of(state: State, usual: Baseline = USUAL) -> Evidence:
    """What is known of a state."""
    version = parse_version("16.0 SP03")
    return evidence_of(state, diagnose(state, usual), version, 15.0, page_size=4096, options=OPTIONS)


def steps(advice: Advice) -> list[tuple[Cause, AdviceStep]]:
    return [(cause, step) for cause in advice.causes for step in cause.steps]


def log_waits() -> State:
    """A server that spins little and waits for its log."""
    state = healthy()
    for what, rate in {"grabs": 1e7, "waits": 1.5e6, "spins": 2e6}.items():
        state.set(f"ase_spinlock_{what}_total", rate, spinlock="fglockspins", **{"class": "lock"})
    state.set("ase_wait_seconds_total", 30.0, event_id="54", event="log", **{"class": "write"})
    state.set("ase_database_log_waits_total", 400.0, database="orders")
    return state


def test_a_server_that_waits_for_its_log_is_told_so_before_its_spinlocks() -> None:
    advice = advise(of(log_waits(), NO_BASELINE))
    first, *others = advice.causes
    assert (first.finding.name, [each.finding.name for each in others]) == ("log_waits", ["contended"])
    (step,) = first.steps
    assert step.statements == ("exec sp_configure 'user log cache size', 8192",)
    assert step.price == "a restart, 1.2 MB of memory"
    assert step.ceiling.startswith(
        f"at most {first.finding.share:.1%} of session time, if whole transactions fit"
    )
    text = printed(advice)
    assert 0 < text.index("LOG: database orders") < text.index("fglockspins")


@pytest.mark.parametrize("configured", [4096, 8192])
def test_what_waits_for_a_restart_is_not_advised_again(configured: int) -> None:
    state = log_waits()
    state.set("ase_config_value", 4096, name="user log cache size")
    state.set("ase_config_configured_value", configured, name="user log cache size")
    first = advise(of(state, NO_BASELINE)).causes[0]
    assert bool(first.steps) == (configured == 4096)
    assert any("next restart" in each for each in first.cautions) == (configured == 8192)


def test_no_step_may_gain_more_than_its_finding_explains_or_cost_more_than_there_is() -> None:
    seen = set[str]()
    for seed in range(STATES):
        evidence = of(generated(seed))
        advised = advise(evidence)
        for cause, step in steps(advised):
            seen.add(cause.finding.name)
            assert step.share == cause.finding.share and step.assumes in step.ceiling, seed
            assert step.memory <= (evidence.free_bytes or 0.0), seed
            assert not step.downtime or step.share is None or step.share >= MIN_SHARE, seed
        shares = [step.share or 0.0 for each in advised.findings for step in each.steps]
        assert sum(shares) <= 1 + 1e-9, seed
        # The same time is promised once.
        eased = [catalogue().findings[each.finding.name] for each in advised.causes if each.steps]
        parts = [each.part for each in eased if each.part and not each.times]
        assert len(parts) == len(set(parts)), seed
    assert len(seen) > 10, seen


def test_spinning_that_has_grown_is_eased_by_what_eases_spinlocks() -> None:
    state = log_waits()
    state.set("ase_wait_seconds_total", 0.0, event_id="54", event="log", **{"class": "write"})
    state.set("ase_spinlock_spins_total", 5e7, spinlock="fglockspins", **{"class": "lock"})
    usual = Baseline({"transactions": 100.0}, {}, {"spinning": 1e-6})
    advice = advise(of(state, usual))
    (grown,) = (each for each in advice.causes if each.finding.name == "spinning_grown")
    assert [each.spinlock.name for each in grown.spinlocks] == ["fglockspins"]
    assert "ase-exporter advise" not in printed(advice)


def test_the_steps_of_spinlocks_share_what_spinning_explains() -> None:
    state = log_waits()
    for name, spins in {"tablockspins": 9e8, "fglockspins": 6e8}.items():
        for what, rate in {"grabs": 1e7, "waits": 6e6, "spins": spins}.items():
            state.set(f"ase_spinlock_{what}_total", rate, spinlock=name, **{"class": "lock"})
    found = of(state)
    assert found.diagnosis
    options = {"lock table spinlock ratio": 20, "lock spinlock ratio": 85, "lock hashtable size": 8192}
    advised = advise(replace(found, options={**found.options, **options}))
    shares = {each.spinlock.name: each.steps[0].share for each in advised.hot if each.steps}
    spinning = found.diagnosis.account.caused("spinning")
    assert spinning and shares == {
        "tablockspins": pytest.approx(0.6 * spinning, rel=0.01),
        "fglockspins": pytest.approx(0.4 * spinning, rel=0.01),
    }


@pytest.mark.parametrize("finding", remedies().causes)
def test_every_remedy_names_a_finding_and_measures_that_exist(finding: str) -> None:
    assert finding in catalogue().findings
    for remedy in remedies().causes[finding]:
        assert remedy.when.keys() <= catalogue().measures.keys()
