"""Remedies applied in the simulator's model: what advise predicts of each, and what it brings.

python -m tests.exporter.advise.gains writes docs/internals/remedies.md.
"""

import random
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from tests.exporter.simulated import Simulated, run
from tests.exporter.top.watching import SCENARIOS, watched
from tests.paths import REPOSITORY

from ase_exporter.advise.advice import SpinlockFinding, advise
from ase_exporter.advise.gain import Gain
from ase_exporter.assets import load_yaml
from ase_exporter.top.feed import ADVICE

PAGE = REPOSITORY / "docs" / "internals" / "remedies.md"
# Of other spinlocks, nothing may become worse by more than rounding.
UNCHANGED = 0.01
# How far the throughput that is gained may be from the prediction: a share of it, and a share of what there was.
NEAR, NOISE = 0.3, 0.02
GENERATED = 150
_HEAD = """# Remedies in the model

Written by `python -m tests.exporter.advise.gains`: each remedy of [advise](../advise.md), applied to a
simulated server whose spinlock is hot. Predicted: from what the exporter reads. Gained: in the model.

| spinlock | first statement | engines spin | predicted to stop | stopped | tx/s | predicted more | more |
|---|---|---|---|---|---|---|---|
"""
DATA_CACHE = "default data cache"


@dataclass(frozen=True)
class Hot:
    """What makes a spinlock hot: so many of a unit in each transaction, and nanoseconds held, on 16 engines."""

    unit: str
    amount: float
    hold_ns: float


HOT = {
    "addrlockspins": Hot("address_locks", 60, 9000),
    "fglockspins": Hot("row_locks", 300, 9000),
    "tablockspins": Hot("table_locks", 100, 3500),
    "Des Upd Spinlocks": Hot("object_uses", 80, 20000),
    "Ides Spinlocks": Hot("index_uses", 80, 20000),
    "Ides Chain Spinlocks": Hot("index_uses", 80, 90000),
    "Pdes Spinlocks": Hot("partition_uses", 80, 20000),
    "Pdes Chain Spinlocks": Hot("partition_uses", 80, 150000),
    "User Log Cache Spinlocks": Hot("log_records", 80, 20000),
    "Resource->rdesmgr_spin": Hot("object_uses", 40, 9000),
    "Resource->rproccache_spin": Hot("compiles", 2, 9000),
    "Resource->rprocmgr_spin": Hot("procedures", 20, 9000),
    "SSQLCACHE_SPIN[i]": Hot("cached_statements", 20, 9000),
    DATA_CACHE: Hot("logical_reads", 100, 1500),
}


@dataclass(frozen=True)
class Outcome:
    """One remedy. before, after: transactions per second and engines that spin, in the model."""

    finding: SpinlockFinding
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def gain(self) -> Gain | None:
        return self.finding.steps[0].gain

    @property
    def transactions(self) -> float:
        """More per second, in the model."""
        return self.after[0] - self.before[0]

    @property
    def loses(self) -> bool:
        return self.transactions < -UNCHANGED * self.before[0]

    @property
    def disappoints(self) -> bool:
        """Whether it brings less than predicted, although nothing was said to be in the way."""
        if self.gain is None or self.gain.transactions is None or self.gain.then:
            return False
        return self.transactions < (1 - NEAR) * self.gain.transactions - NOISE * self.before[0]


def server(
    *names: str, scenario: str = "storm", dice: random.Random | None = None, **workload: Any
) -> dict[str, Any]:
    """A scenario whose spinlocks of these names are hot. dice: varies the server and how hot they are."""
    content: dict[str, Any] = deepcopy(load_yaml((SCENARIOS / f"{scenario}.yaml").read_text()))
    content.pop("steps", None)
    content["static_options"] = "at_once"
    load = content["workload"]
    load.pop("batch", None)
    load |= {"users": 2000, "think_ms": 200, "per_transaction": {}, "spinlocks": {}}
    load["caches"] = {DATA_CACHE: {"hold_ns": 10}}
    content["options"] |= {"number of user connections": 8000, "partition spinlock ratio": 100}
    if dice:
        content["engines"] = dice.choice([8, 16, 32, 64])
        load |= {"users": dice.choice([100, 600, 2000, 5000]), "think_ms": dice.choice([0, 100, 500])}
        load["coherence"] = dice.choice([0, 0.5, 1])
    load |= workload
    for name in names:
        hot, held, skew = HOT[name], 16 / content["engines"], 0.3
        amount = hot.amount
        if dice:
            held, skew = held * dice.uniform(0.1, 1.5), dice.uniform(0, 0.7)
            amount *= dice.uniform(0.3, 1)
        load["per_transaction"][hot.unit] = amount
        if name == DATA_CACHE:
            load["caches"] = {name: {"hold_ns": hot.hold_ns * held, "skew": skew}}
            content["caches"][name]["partitions"] = dice.choice([1, 2, 8]) if dice else 2
        else:
            load["spinlocks"][name] = {"hold_ns": hot.hold_ns * held, "skew": skew}
    return content


def generated(seed: int) -> dict[str, Any]:
    """A server by chance: one to three hot spinlocks, more or less at its limit."""
    dice = random.Random(seed)
    names = dice.sample(list(HOT), dice.choice([1, 1, 1, 2, 3]))
    return server(*names, scenario=dice.choice(["storm", "vldb", "quiet-oltp"]), dice=dice)


def tables_of_a_hot_cache(*, system: bool) -> dict[str, Any]:
    """The VLDB case study without its other bottlenecks: its cache has as many partitions as help."""
    content = server(scenario="vldb", users=256, think_ms=0)
    original = load_yaml((SCENARIOS / "vldb.yaml").read_text())["workload"]
    content["workload"]["caches"] = original["caches"]
    content["workload"]["per_transaction"] = {"logical_reads": 400}
    if not system:
        objects = content["workload"]["objects"]
        content["workload"]["objects"] = [each for each in objects if each.get("kind") != "system"]
    return content


def outcomes(content: dict[str, Any]) -> list[Outcome]:
    """What the first step of each finding is predicted to bring, and brings: each on a server of its own."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump(content, sort_keys=False))
        with watched(str(file), selection=ADVICE, budget=None) as watching:
            advice = advise(watching.evidence())
        found = []
        for finding in advice.hot:
            if finding.steps:
                with run("", str(file), speed=0.0) as simulated, simulated.login("sa") as query:
                    before = _point(simulated)
                    for statement in finding.steps[0].statements:
                        query(statement)
                    found.append(Outcome(finding, before, _point(simulated)))
        return found


def _point(simulated: Simulated) -> tuple[float, float]:
    point = simulated.model.world.operation.point
    return point.throughput, point.spinning


@cache
def by_remedy() -> dict[str, Outcome]:
    """One server for each remedy."""
    found = {name: _only(name, server(name)) for name in HOT}
    for title, system in (("system tables", True), ("key tables", False)):
        found[f"{DATA_CACHE}, {title}"] = _only(DATA_CACHE, tables_of_a_hot_cache(system=system))
    return found


def _only(name: str, content: dict[str, Any]) -> Outcome:
    (found,) = (each for each in outcomes(content) if each.finding.spinlock.name == name)
    return found


def summary(found: Sequence[Outcome]) -> str:
    known = [
        each for each in found if each.gain and each.gain.transactions is not None and not each.gain.then
    ]
    return (
        f"On {GENERATED} generated servers (8 to 64 engines, one to three hot spinlocks, skewed and even, idle to"
        f" saturated) advise printed {len(found)} steps. {sum(each.loses for each in found)} of them lost throughput."
        f" Of the {len(known)} with a prediction and nothing in the way, {sum(each.disappoints for each in known)}"
        f" brought less than it by more than {NEAR:.0%}."
    )


def page() -> Iterator[str]:
    """The whole page, by line."""
    yield _HEAD.rstrip("\n")
    for title, each in by_remedy().items():
        gain = each.gain
        engines, more = (
            (f"{gain.engines:.1f}", f"{gain.transactions or 0:,.0f}") if gain else ("not known",) * 2
        )
        done, spin = each.before
        cells = (
            *(title, f"`{each.finding.steps[0].statements[0]}`", f"{spin:.1f}", engines),
            *(
                f"{spin - each.after[1]:.1f}",
                f"{done:,.0f}",
                f"{'up to ' if gain and gain.then else ''}{more}",
            ),
            f"{each.transactions + 0.0:,.0f}".replace("-0", "0"),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield summary([each for seed in range(GENERATED) for each in outcomes(generated(seed))])


if __name__ == "__main__":
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")
