"""The model of one ASE: counters that grow with simulated time, and its settings."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Unpack

from ase_simulator.contracts import CacheChange, ClientState, LoginRequest, Option, Row, ServerError
from ase_simulator.faults import Faults
from ase_simulator.model.tables import TABLES
from ase_simulator.model.tables.monitors import monitor_values
from ase_simulator.model.timeline import StepSettings, Timeline
from ase_simulator.model.world import World


class SimulatedServer:
    """A world, the timeline that changes it, and the actions of clients.

    Simulated time runs `speed` times as fast as real time; rows show the state at `now()`.
    """

    def __init__(self, world: World, timeline: Timeline) -> None:
        self._world = world
        self.faults = Faults()
        self._timeline = timeline
        self._running = True
        self._on_drop: list[Callable[[], None]] = []
        self._settle()

    @property
    def world(self) -> World:
        """The world as of now."""
        self._settle()
        return self._world

    @property
    def name(self) -> str:
        return self._world.name

    @property
    def version(self) -> str:
        """Key of the version profile."""
        return self._world.version

    @property
    def running(self) -> bool:
        """False after a shutdown, until the restart."""
        self._settle()
        return self._running

    @property
    def locked_logins(self) -> frozenset[str]:
        """Logins that the scenario keeps locked now."""
        return self.world.locked

    def now(self) -> datetime:
        """Simulated wall clock, UTC, naive."""
        return self._world.clock.utc(self._world.clock.seconds())

    def local_now(self) -> datetime:
        """Simulated wall clock in the server's time zone, naive."""
        return self._world.clock.date(self._world.clock.seconds())

    async def sleep(self, seconds: float) -> None:
        await self._world.clock.sleep(seconds)

    async def play(self) -> None:
        """Start each step of the timeline on time, even without requests. Returns after the last."""
        while (start := self._timeline.next_start()) is not None:
            await self._world.clock.sleep(start - self._world.clock.seconds())
            self._settle()

    def boot_time(self) -> datetime:
        """When it started, in its time zone."""
        return self._world.date(self._world.started)

    def on_drop(self, callback: Callable[[], None]) -> None:
        """Call back whenever all connections are to be dropped: restart, shutdown, a scripted drop."""
        self._on_drop.append(callback)

    def table(self, name: str, columns: tuple[str, ...] | None = None) -> Iterable[Row]:
        """Rows of a table as of now; tables that it does not know have none. columns: those that the caller reads."""
        if name not in TABLES:
            return []
        return list(TABLES[name](self.world, columns))

    def options(self) -> Sequence[Option]:
        return self.world.options.all(self._world.caches.total_kb())

    def run_value(self, option: str, default: int = 0) -> int:
        """The run value of a configuration option; default where this version lacks it."""
        return self._world.options.run(option, default)

    def set_option(self, name: str, value: int | str, login: str) -> Option:
        """sp_configure: name may be any part that only one option has. Raises ServerError."""
        world = self.world
        before = world.options.find(name)
        option = world.options.set(name, value, world.caches.total_kb())
        old, new = (each.text or each.configured for each in (before, option))
        text = (
            f"The configuration option '{option.name}' has been changed by '{login}' from '{old}' to '{new}'."
        )
        world.log.write(world.seconds, text)
        world.caches.default_partitions = world.options.run("global cache partition number")
        world.changed()
        return option

    def configure_cache(self, name: str, **change: Unpack[CacheChange]) -> None:
        """sp_cacheconfig. Raises ServerError."""
        self.world.caches.configure(name, **change)
        self._world.changed()

    def configure_pool(self, cache: str, io_size_kb: int, size_kb: int) -> None:
        self.world.caches.configure_pool(cache, io_size_kb, size_kb)
        self._world.changed()

    def bind_cache(self, cache: str | None, database: str, object_name: str | None = None) -> None:
        """sp_bindcache and sp_unbindcache. Raises ServerError."""
        if database not in self._world.inventory.databases:
            raise ServerError(
                911, f"Attempt to locate entry in sysdatabases for database '{database}' failed.", 11
            )
        self.world.caches.bind(cache, database, object_name)
        self._world.changed()

    def set_engine(self, engine: int, online: bool) -> None:
        """sp_engine. Raises ServerError."""
        world = self.world
        if not 0 <= engine < world.options.run("max online engines"):
            raise ServerError(18685, f"Engine {engine} is not a valid engine number for this server.")
        if (engine in world.online) == online:
            raise ServerError(18686, f"Engine {engine} is already {'online' if online else 'offline'}.")
        if not online and engine == 0:
            raise ServerError(18687, "Engine 0 cannot be taken offline.")
        world.online = sorted({*world.online, engine} if online else {*world.online} - {engine})
        world.log.write(world.seconds, f"engine {engine}, os pid 4711  {'online' if online else 'offline'}")
        world.changed()

    def clear_monitors(self) -> None:
        """Reset the monitor counters; those of the MDA tables continue."""
        self._settle()
        self._clear()

    def restart(self) -> None:
        """Restart; all sessions are dropped."""
        self._settle()
        self._restart()

    def shutdown(self) -> None:
        """The server ends; all sessions are dropped."""
        self._settle()
        self._shutdown()

    def attach(self, request: LoginRequest) -> int:
        return self.world.sessions.attach(request, self._world.seconds)

    def client(self, spid: int) -> ClientState:
        return self._world.sessions.state(spid)

    def detach(self, spid: int) -> None:
        self._world.sessions.detach(spid)

    def account(self, spid: int, *, statements: int = 0, rows: int = 0, cpu_ms: float = 0.0) -> None:
        self._world.sessions.account(spid, statements, rows, cpu_ms)

    def advance(self, seconds: float) -> None:
        """Move simulated time forward by hand."""
        self._world.clock.advance(seconds)
        self._settle()

    def _settle(self) -> None:
        self._timeline.move(self._world, self._world.clock.seconds(), self._begin)

    def _begin(self, step: StepSettings) -> None:
        for event in step.events:
            if event == "restart":
                self._restart(step.wrap_in)
            elif event == "shutdown":
                self._shutdown()
            elif event == "clear":
                self._clear()
            else:
                self._drop()
        self.faults.become(step.faults)
        if not self._running:
            self.faults.refuse = True

    def _restart(self, wrap_in: float | None = None) -> None:
        self._world.restart(wrap_in)
        self._running = True
        self.faults.refuse = False
        self._drop()

    def _shutdown(self) -> None:
        self._world.log.write(self._world.seconds, "ASE is terminating this process.")
        self._running = False
        self.faults.refuse = True
        self._drop()

    def _clear(self) -> None:
        world = self._world
        world.cleared = world.seconds
        world.at_clear = monitor_values(world)

    def _drop(self) -> None:
        self._world.sessions.drop()
        for callback in self._on_drop:
            callback()
