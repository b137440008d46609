"""A scenario's steps, played one after the other as time passes."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, ValidationError

from ase_simulator.contracts import ServerError
from ase_simulator.faults import Break, Faults
from ase_simulator.model.workload import Effect, NotNegative, Positive, Strict, Workload
from ase_simulator.model.world import Step, World


class CacheSettings(Strict):
    """What sp_cacheconfig and sp_poolconfig would set; what is left out stays. pools: KB by I/O size KB."""

    size_kb: int | None = None
    type: str | None = None
    strategy: str | None = None
    partitions: int | None = None
    pools: dict[int, int] = Field(default={})


class FaultSettings(Strict):
    """ase_simulator.faults.Faults, as a step switches them on; break_off: how result sets break off."""

    mute: bool = False
    refuse: bool = False
    hang: bool = False
    ignore_attention: bool = False
    seconds_per_row: NotNegative = 0.0
    break_off: Literal["close", "reset", "garbage"] | None = None
    after_rows: int = 0
    only: str = ""

    def apply(self, faults: Faults) -> None:
        """Make the listener's faults these, and no others."""
        faults.mute = self.mute
        faults.refuse = self.refuse
        faults.hang = self.hang
        faults.ignore_attention = self.ignore_attention
        faults.seconds_per_row = self.seconds_per_row
        faults.broken = Break(self.break_off, self.after_rows) if self.break_off else None
        faults.only = self.only


Event = Literal["restart", "shutdown", "drop", "clear"]


class StepSettings(Strict):
    """One step: for how long, and what changes when it begins.

    options, caches: stay so. workload: fields of the workload, and they stay so. adjust: factors of the
    workload. faults, locked (logins) and loading (databases): adjust and these last as long as the step.
    events: what happens at its start, in this order. wrap_in: a restart lets int counters reach 2^31 after
    so many seconds. engines: how many are online from now on.
    """

    name: str
    seconds: NotNegative
    events: tuple[Event, ...] = ()
    wrap_in: Positive | None = None
    engines: int | None = Field(default=None, ge=1)
    options: dict[str, int | str] = Field(default={})
    caches: dict[str, CacheSettings] = Field(default={})
    workload: dict[str, Any] = Field(default={})
    adjust: Effect = Effect()
    faults: FaultSettings = FaultSettings()
    locked: tuple[str, ...] = ()
    loading: tuple[str, ...] = ()


class Timeline:
    """Plays steps on a world. repeat: from the first again after the last; else the last one stays."""

    def __init__(self, steps: tuple[StepSettings, ...], *, repeat: bool) -> None:
        self._steps = steps
        self._repeat = repeat
        self._next = 0
        self._at = 0.0

    def move(self, world: World, seconds: float, begin: Callable[[StepSettings], None]) -> None:
        """Bring the world to that simulated second, through every step that begins until then.

        begin: told of each of them, once its settings hold.
        """
        while self._next < len(self._steps) and self._at <= seconds:
            step, start = self._steps[self._next], self._at
            world.grow(start)
            apply_settings(world, step)
            world.step = Step(self._next + 1, step.name, start, step.seconds)
            # Whoever is told below may ask the server again: the step must be over and done with by then.
            self._at += step.seconds
            self._next += 1
            if self._repeat and self._next == len(self._steps):
                self._next = 0
            begin(step)
        world.grow(seconds)

    def next_start(self) -> float | None:
        """The second at which the next step begins; None after the last."""
        return self._at if self._next < len(self._steps) else None


def apply_settings(world: World, step: StepSettings) -> None:
    """Let the settings of a step take effect on the world."""
    for name, value in step.options.items():
        if world.options.has(name):
            world.options.set(name, value)
    for cache, settings in step.caches.items():
        apply_cache(world, cache, settings)
    world.workload = changed_workload(world.workload, step)
    if step.engines is not None:
        world.online = list(range(step.engines))
    world.locked, world.loading = frozenset(step.locked), frozenset(step.loading)
    world.changed()


def changed_workload(workload: Workload, step: StepSettings) -> Workload:
    """The workload as it is from a step on. Raises ServerError for a field that it cannot have."""
    changes = {**step.workload, "adjust": step.adjust}
    try:
        return Workload.model_validate(workload.model_dump() | changes)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ServerError(0, f"step '{step.name}': workload.{place}: {first['msg']}") from error


def apply_cache(world: World, name: str, settings: CacheSettings) -> None:
    """Configure one cache and its pools."""
    world.caches.configure(
        name,
        size_kb=settings.size_kb,
        cache_type=settings.type,
        strategy=settings.strategy,
        partitions=settings.partitions,
    )
    for io_size, size in settings.pools.items():
        world.caches.configure_pool(name, io_size, size)
