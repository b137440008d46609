"""The steps of a scenario, applied one after the other as time passes."""

from collections.abc import Callable
from typing import Any, Literal, cast

from pydantic import Field, ValidationError

from ase_simulator.contracts import CacheChange, ServerError
from ase_simulator.faults import Faults, NotNegative
from ase_simulator.model.database_states import DATABASE_STATES, DatabaseState
from ase_simulator.model.workload import Effect, Positive, Share, Strict, Workload
from ase_simulator.model.world import Fill, Step, World


class CacheSettings(Strict):
    """Settings of sp_cacheconfig and sp_poolconfig; omitted ones do not change. pools: KB by I/O size KB."""

    size_kb: int | None = None
    type: str | None = None
    strategy: str | None = None
    partitions: int | None = None
    pools: dict[int, int] = Field(default={})


Event = Literal["restart", "shutdown", "drop", "clear"]


class LogMessage(Strict):
    """A message of the error log."""

    text: str
    number: int = 0
    severity: int = 0


class FillSettings(Strict):
    """How full a database is: shares at the start and at the end of a step, of data (and what is mixed) and log."""

    data: tuple[Share, Share] | None = None
    log: tuple[Share, Share] | None = None


class StepSettings(Strict):
    """One step: its duration and its changes.

    options, caches, workload: settings that change and stay. adjust: factors of the
    workload. faults, locked (logins), loading (databases), databases (their states), rep_agents_stopped (databases)
    and licence_grace_hours (from the step's start to the end of the grace period): these and adjust last as
    long as the step. log: messages that the error log gets at its start. fill: how full databases become; they stay
    so. log_dumps: databases whose log is dumped at its start.
    events: events at its start, in this order. wrap_in: a restart lets int counters reach 2^31 after
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
    faults: Faults = Field(default_factory=Faults)
    locked: tuple[str, ...] = ()
    loading: tuple[str, ...] = ()
    databases: dict[str, DatabaseState] = Field(default={})
    log: tuple[LogMessage, ...] = ()
    fill: dict[str, FillSettings] = Field(default={})
    log_dumps: tuple[str, ...] = ()
    rep_agents_stopped: tuple[str, ...] = ()
    licence_grace_hours: NotNegative | None = None


class Timeline:
    """Applies steps to a world. repeat: start again after the last step; otherwise the last one stays."""

    def __init__(self, steps: tuple[StepSettings, ...], *, repeat: bool) -> None:
        self._steps = steps
        self._repeat = repeat
        self._next = 0
        self._at = 0.0

    def move(self, world: World, seconds: float, begin: Callable[[StepSettings], None]) -> None:
        """Bring the world to that simulated second, through every step that begins until then.

        begin: called for each of them, once its settings are in effect.
        """
        while self._next < len(self._steps) and self._at <= seconds:
            step, start = self._steps[self._next], self._at
            world.grow(start)
            apply_settings(world, step)
            world.step = Step(self._next + 1, step.name, start, step.seconds)
            # `begin` may call the server again, so the state must be consistent before it is called.
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
    for name, value in step.options.items():
        if world.options.has(name):
            world.options.set(name, value)
    for cache, settings in step.caches.items():
        apply_cache(world, cache, settings)
    world.workload = changed_workload(world.workload, step)
    if step.engines is not None:
        world.online = list(range(step.engines))
    world.locked, world.loading = frozenset(step.locked), frozenset(step.loading)
    world.database_status = {name: DATABASE_STATES[state] for name, state in step.databases.items()}
    for name, fill in step.fill.items():
        for is_log, shares in ((False, fill.data), (True, fill.log)):
            if shares:
                world.fills[name, is_log] = Fill(*shares, world.seconds, world.seconds + step.seconds)
    world.log_dumps |= dict.fromkeys(step.log_dumps, world.seconds)
    stopped = world.rep_agents_stopped
    world.rep_agents_stopped = {each: stopped.get(each, world.seconds) for each in step.rep_agents_stopped}
    grace = step.licence_grace_hours
    world.grace_ends = None if grace is None else world.seconds + 3600 * grace
    for message in step.log:
        world.log.write(world.seconds, message.text, message.number, message.severity)
    world.changed()


def changed_workload(workload: Workload, step: StepSettings) -> Workload:
    """The workload as it is from a step on. Raises ServerError for an invalid field."""
    changes = {**step.workload, "adjust": step.adjust}
    try:
        return Workload.model_validate(workload.model_dump() | changes)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ServerError(0, f"step '{step.name}': workload.{place}: {first['msg']}") from error


def apply_cache(world: World, name: str, settings: CacheSettings) -> None:
    world.caches.configure(name, **cast(CacheChange, settings.model_dump(exclude={"pools"})))
    for io_size, size in settings.pools.items():
        world.caches.configure_pool(name, io_size, size)
