"""No all-clear that a figure of the same view contradicts: generated states, alone and compared with another."""

from collections import Counter

import pytest
from tests.exporter.diagnosis.states import generated, unlike

from ase_exporter.diagnosis.account import CPU_PARTS, RUN_QUEUE
from ase_exporter.diagnosis.catalogue import catalogue, threshold
from ase_exporter.diagnosis.diagnose import (
    IDLE,
    NO_BASELINE,
    WORKS,
    Baseline,
    Diagnosis,
    baseline_of,
    diagnose,
)

# States, in every build and in the slow tier.
NUMBERS = [200, pytest.param(5000, marks=pytest.mark.slow)]
# Limits of the promise, not of the parameters: share of session time, share of engines, times the usual.
LARGE, SPINS, TIMES = 0.20, 0.15, 3.0
# Seconds of a wait, or in a transaction, that no user notices.
SHORT = {"log": 0.015, "disk": 0.03}
NOTICED = 0.01
FULL = 0.995
# Sessions at work without which shares are noise.
FEW = 0.5


def contradictions(said: Diagnosis, usual: Baseline) -> list[str]:
    """The figures that a view shows beside the verdict and that no all-clear may pass over."""
    value = {name: each.value or 0.0 for name, each in said.measures.items()}
    found = [f"{name} full" for name in ("log_used", "data_used", "tempdb_used") if value[name] >= FULL]
    found += [name for name in ("unavailable", "loading", "suspended", "logs_full") if value[name] >= 1]
    found += [name for name in ("connections_used", "locks_used") if value[name] >= 0.99]
    found += [name for name in ("space_error", "severe_errors", "other_errors") if value[name] > 0]
    if value["spinning_share"] >= SPINS:
        found.append("spinning")
    account = said.account
    for part in account.parts if account.sessions >= FEW else ():
        share, now, before = (
            account.share(part),
            account.per_transaction(part),
            usual.per_transaction.get(part),
        )
        known = now is not None and before is not None and account.transactions
        times = now / before if now and before else 0.0
        risen = account.parts[part] > 0.1 + 1.2 * (before or 0.0) * usual.measures.get("transactions", 0.0)
        if share and part != "work" and share >= LARGE and times >= 1.01 * TIMES and risen:
            found.append(f"{part} {times:.1f} times its usual")
        if share and share >= LARGE and part not in CPU_PARTS:
            title = catalogue().account[part].title
            each = {"log": value["log_wait"], "disk": value["device_latency"]}.get(part) or now
            if f"{title} {100 * share:.1f}% of session time" not in said.text:
                found.append(f"{part} is not mentioned")
            elif not known and (each is None or each > SHORT.get(part, NOTICED)):
                found.append(f"{part} {share:.0%}")
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_no_figure_of_the_view_contradicts_an_all_clear(number: int) -> None:
    said: Counter[str] = Counter()
    before = NO_BASELINE
    for seed in range(number):
        state = unlike(seed)
        for usual in (NO_BASELINE, before):
            found = diagnose(state, usual)
            said[found.state] += 1
            if found.state in (WORKS, IDLE):
                said["remarks"] += "of session time" in found.text
                assert contradictions(found, usual) == [], (seed, found.sentence)
        before = baseline_of(found)
    assert min(said[WORKS], said["not_known"], said["remarks"]) >= 3, said


@pytest.mark.parametrize("number", NUMBERS)
def test_no_ratio_is_above_its_whole_and_figures_agree(number: int) -> None:
    usual, spun, queued = NO_BASELINE, 0, 0
    for seed in range(number):
        found = diagnose(generated(seed), usual)
        ratios = [each for each in found.measures.values() if each.unit == "ratio"]
        assert [each for each in ratios if (each.value or 0.0) > 1.0] == [], seed
        value = {name: each.value for name, each in found.measures.items()}
        for name, each in catalogue().measures.items():
            before, now = usual.measures.get(each.compared or ""), value[each.compared or "up"]
            if before is None or now is None:
                continue
            if each.risen:
                assert value[name] == max(0.0, now - before), (seed, name)
            elif each.fallen:
                counts = before > threshold(each.at_least or "0")
                assert value[name] == (max(0.0, 1 - now / before) if counts else 0.0), (seed, name)
        blind = {each.word.lower() for each in found.unknown if each.vital} if found.findings else set()
        assert all(word in found.not_judged for word in blind) and bool(blind) == bool(found.not_judged)
        if found.seconds_per_spin and value["spins"]:
            assert found.seconds_per_spin * value["spins"] == pytest.approx(
                (value["spinning_share"] or 0.0) * (value["engines"] or 0.0)
            )
            spun += 1
        # The run queue is caused by what uses the CPU: each part of that its own share of it, and all of it together.
        shares = {part: found.account.share(part) for part in (*CPU_PARTS, RUN_QUEUE)}
        if None not in shares.values() and found.account.parts["work"]:
            causes = [found.account.caused(part) or 0.0 for part in CPU_PARTS]
            assert sum(causes) == pytest.approx(sum(each or 0.0 for each in shares.values())), seed
            assert found.account.caused(RUN_QUEUE) == pytest.approx(causes[0] - (shares["work"] or 0.0)), seed
            queued += 1
        usual = baseline_of(found)
    assert min(spun, queued) > number / 10
