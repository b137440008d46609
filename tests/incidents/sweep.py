"""Each cause swept from nothing to severe on a healthy simulated server, and what the diagnosis says on the way.

The truth is that of the simulator's model, by a rule of what a DBA would want to hear: a state is ill when a
transaction takes at least ILL times as long as it does without the cause, or, where nothing is known of before, when it
loses LONG seconds besides; it is well when it takes at most WELL times as long. In between, both answers are right.
What spins for 15 % of the engines is ill, too, and engines that are 95 % busy are not well. Space has no response time:
what is full is ill, what is below the thresholds of the risks is well. Of load that falls only a server that nobody
uses any more is ill, and only where the usual is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, Self

from tests.incidents.running import HEALTHY, Site, read, served, sized

from ase_exporter.diagnosis.diagnose import (
    IDLE,
    NO_BASELINE,
    WORKS,
    Diagnosis,
    baseline_of,
    diagnose,
    typical,
)
from ase_exporter.readings.samples import Sample
from ase_simulator.model.timeline import FillSettings, StepSettings, apply_settings
from ase_simulator.model.world import World

ILL, WELL, LONG = 2.0, 1.15, 0.025
# Shares of the engines that spin, and that are busy.
SPINS, CALM, BUSY = 0.15, 0.05, 0.95
# Shares of space that are full, and that a risk begins at; of the transactions, what is left at a quiet hour.
FULL, FILLS, FEWER = 0.999, 0.80, 0.06
EMPTY = {"orders": FillSettings(data=(0.5, 0.5), log=(0.5, 0.5)), "tempdb": FillSettings(data=(0.5, 0.5))}
# Seconds of simulated time: until a state has settled and everything was read of it, and between its two samples.
SETTLED, WINDOW = 60.0, 20.0
# Samples of the time before, from which the usual is known.
USUAL = 3
LOCKS = 5000
OPTIONS = {"number of user connections": 30000, "max memory": 67108864, "number of locks": LOCKS}
# Grabs of the spinlock per second and engine, so that the strength is the share of time for which it is held.
PROCEDURE_CACHE, GRABS = "Resource->rproccache_spin", 700.0
MILLISECONDS = (0.5, 1.5, 4, 10, 25, 60, 150, 400)
SPACE = (0.50, 0.70, 0.85, 0.92, 0.97, 0.99, 0.999, 1.0)


@dataclass(frozen=True)
class Cause:
    """One cause. words: those that name it. strengths: from none to severe. key: of the workload that has the strength.

    inside: of which wait event, cache or space. factor: the strength is one on the workload's own value.
    past: only what is known of before shows it. base: how the healthy workload differs, before, too; its background_cpu
    is a share of the engines.
    """

    words: Sequence[str]
    strengths: Sequence[float]
    key: str
    inside: str = ""
    factor: bool = False
    past: bool = False
    base: Mapping[str, Any] = field(default_factory=dict)

    def usual(self, workload: Mapping[str, Any], engines: int) -> dict[str, Any]:
        """The workload before."""
        changed = {**workload, **self.base}
        changed["background_cpu"] = (
            self.base.get("background_cpu", 0.0) * engines or workload["background_cpu"]
        )
        return changed

    def step(self, usual: Mapping[str, Any], strength: float, engines: int) -> StepSettings:
        """The usual workload with that strength of the cause."""
        changed: dict[str, Any] = dict(usual)
        fill = dict(EMPTY)
        if self.key == "fill":
            database, kind = self.inside.split()
            fill[database] = EMPTY[database].model_copy(update={kind: (strength, strength)})
        elif self.key == "held_locks":
            changed[self.key] = round(strength * LOCKS)
        else:
            before = usual[self.key]
            value = strength * before if self.factor else strength
            changed[self.key] = {**before, **self._within(value, engines)} if self.inside else value
        if self.key == "spinlocks":
            changed["per_transaction"] = usual["per_transaction"] | {
                "cached_statements": 1.0,
                "compiles": 1.0,
            }
        changed["users"] = round(changed["users"])
        return StepSettings(name=self.key, seconds=1, workload=changed, fill=fill)

    def _within(self, value: float, engines: int) -> dict[int | str, Any]:
        if self.key == "spinlocks":
            return {self.inside: {"hold_ns": value * 1e9 / (GRABS * engines)}}
        return {int(self.inside) if self.inside.isdigit() else self.inside: value}


# Of the users: at lunch, at night, and nobody.
QUIET = (0.9, 0.7, 0.5, 0.3, 0.2, 0.12, 0.09, 0)
FEW = {"users": 3, "think_ms": 50}


CAUSES: Mapping[str, Cause] = {
    "log": Cause(("LOG", "PERHAPS LOG"), MILLISECONDS, "waits_ms", "54"),
    "lock": Cause(("BLOCKED", "LOCK WAITS"), MILLISECONDS, "waits_ms", "150"),
    "latch": Cause(("LATCHES",), MILLISECONDS, "waits_ms", "41"),
    "network": Cause(("NETWORK",), MILLISECONDS, "waits_ms", "251"),
    "remote": Cause(("REMOTE",), MILLISECONDS, "waits_ms", "171"),
    "disk": Cause(("DISK",), (0.6, 1, 2, 5, 12, 30, 80, 250), "read_ms"),
    "spinning": Cause(("SPINS",), (0.1, 0.3, 0.45, 0.55, 0.6, 0.65, 0.8, 2), "spinlocks", PROCEDURE_CACHE),
    "users": Cause(("SATURATED", "RUN QUEUE"), (1.2, 2, 3, 3.7, 4.2, 5, 7, 12), "users", factor=True),
    "commits": Cause(("LOG", "PERHAPS LOG"), (1.05, 1.5, 2, 4, 10, 25, 60, 150), "wait_ms", factor=True),
    "few on slow disks": Cause(("DISK",), (0.6, 2, 12, 30, 80, 150, 250, 500), "read_ms", base=FEW),
    "literals": Cause((), (0, 0.5, 1, 2, 4, 6, 8, 10), "per_transaction", "compiles"),
    "quiet": Cause(("FELL",), QUIET, "users", factor=True, past=True),
    "housekeeping": Cause(("FELL",), QUIET, "users", factor=True, past=True, base={"background_cpu": 0.2}),
    "cpu": Cause(
        ("COSTLIER", "SATURATED"), (1.05, 1.2, 1.4, 2, 2.7, 3.5, 5, 8), "cpu_ms", factor=True, past=True
    ),
    "log space": Cause(("LOG FILLS", "FULL", "SUSPENDED"), SPACE, "fill", "orders log"),
    "data space": Cause(("SPACE LOW", "FULL"), SPACE, "fill", "orders data"),
    "locks": Cause(("LOCKS", "LOCKS USED UP"), SPACE, "held_locks"),
    "tempdb space": Cause(("SPACE LOW", "FULL"), SPACE, "fill", "tempdb data"),
}
SITES = [Site(seed, engines) for engines, seed in product((4, 32, 128), (1, 2))]


@dataclass(frozen=True)
class Load:
    """What the model knows of a server. response: seconds of a transaction, without the pause before it.

    throughput: transactions per second. spinning, busy: shares of the engines.
    """

    response: float
    throughput: float
    spinning: float
    busy: float

    @classmethod
    def of(cls, world: World) -> Self:
        point, workload, engines = world.operation.point, world.workload, len(world.online)
        made = point.throughput
        response = workload.users / made - workload.think_ms / 1000 if made else 0.0
        return cls(response, made, point.spinning / engines, point.busy / engines)


@dataclass(frozen=True)
class State:
    """One state of the sweep. said: by the diagnosis, compared with the usual or alone."""

    name: str
    strength: float
    site: Site
    compared: bool
    usual: Load
    now: Load
    said: Diagnosis

    @property
    def times(self) -> float:
        """How many times as long as without the cause a transaction takes."""
        return self.now.response / self.usual.response

    @property
    def ill(self) -> bool | None:
        """Whether it is, by the rule; None where both answers are right."""
        cause, now, left = CAUSES[self.name], self.now, self.now.throughput / self.usual.throughput
        if cause.key in ("fill", "held_locks"):
            return True if self.strength >= FULL else False if self.strength < FILLS else None
        if cause.key == "users" and left < 1:
            return False if left > FEWER else True if self.compared and not left else None
        if (self.times <= WELL and now.spinning < CALM and now.busy < BUSY) or not cause.words:
            return False
        if now.spinning >= SPINS:
            return True
        lost = now.response - self.usual.response
        return None if self.times < ILL or (not self.compared and (cause.past or lost < LONG)) else True

    @property
    def calm(self) -> bool:
        return self.said.state in (WORKS, IDLE)

    @property
    def alarms(self) -> bool:
        """Contention above SAP's limits is said whatever it costs: that is no alarm."""
        return not self.calm and {each.name for each in self.said.findings} != {"contended"}

    @property
    def place(self) -> int | None:
        """Of the cause among what is said, from 0; None if it is not."""
        found = dict.fromkeys(each.word for each in self.said.findings)
        return next((at for at, word in enumerate(found) if word in CAUSES[self.name].words), None)

    def __str__(self) -> str:
        about = f"{self.name} {self.strength:g} at {self.site.engines} engines, seed {self.site.seed}"
        how = f"{'compared' if self.compared else 'alone'}, {self.times:.2f} times"
        return f"{about}, {how}, {self.now.spinning:.0%} spins: {self.said.sentence}"


def sweep(site: Site, causes: Sequence[str] = tuple(CAUSES), every: int = 1) -> Iterator[State]:
    """The states of a server. every: of the strengths, only each so many."""
    content = sized(read(HEALTHY), site)
    content["options"] |= OPTIONS
    with served(content, site, budget=None) as watching:
        world = watching.server.world
        healthy = world.workload.model_dump()
        known: dict[str, Any] = {}

        def settled(step: StepSettings) -> Sample:
            watching.run.ask(partial(apply_settings, world, step))
            return [watching.sample(seconds) for seconds in (SETTLED, WINDOW)][-1]

        for name in causes:
            cause = CAUSES[name]
            workload = cause.usual(healthy, site.engines)
            if workload != known:
                calm = StepSettings(name="usual", seconds=1, workload=workload, fill=EMPTY)
                before = [diagnose(settled(calm)) for _ in range(USUAL)]
                baseline = typical([baseline_of(each) for each in before], fmean)
                usual, known = Load.of(world), workload
            for strength in cause.strengths[::-every][::-1]:
                sample = settled(cause.step(workload, strength, site.engines))
                now = Load.of(world)
                for compared in (True, False):
                    said = diagnose(sample, baseline if compared else NO_BASELINE)
                    yield State(name, strength, site, compared, usual, now, said)


def confusion(states: Sequence[State]) -> Mapping[str, Sequence[State]]:
    """The states that are ill and those that are well, and what was said wrongly of them, by how."""
    ill, well = ([each for each in states if each.ill is truth] for truth in (True, False))
    return {
        "ill": ill,
        "well": well,
        "all-clear": [each for each in ill if each.calm],
        "alarm": [each for each in well if each.alarms],
        "cause not first": [each for each in ill if each.place != 0],
        "cause not within two": [each for each in ill if each.place not in (0, 1)],
    }
