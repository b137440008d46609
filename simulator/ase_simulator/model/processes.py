"""Processes at one moment: the snapshot behind all process and lock tables.

It holds for one simulated second. How many users think, run, queue or wait follows from the
operating point; which users they are, from the seed.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ase_simulator.model.inventory import WorkloadTable
from ase_simulator.model.sessions import FIRST_USER_SPID, Client
from ase_simulator.model.workload import DEFAULTS
from ase_simulator.model.world import World

_FIRST_SYSTEM_SPID = 2
_FIRST_SYSTEM_KPID = 1_000_000
FIRST_USER_KPID = 3_000_000
_MAX_CHAIN = 3
_COMMANDS = ("SELECT", "UPDATE", "INSERT", "EXECUTE", "SELECT", "EXECUTE", "COMMIT TRANSACTION")


@dataclass(frozen=True, slots=True)
class Process:
    """One process. wait_event: 0 while it runs; engine: -1 where it is on none.

    user: number among the workload's users, -1 for others. blocked_by: spid, 0 if it waits for no lock.
    table: what it works on; client: the session of a real client.
    """

    spid: int
    kpid: int
    command: str
    status: str
    wait_event: int
    waiting_s: int
    engine: int
    since: float
    login: str = ""
    suid: int = 0
    host: str = ""
    program: str = ""
    address: str = ""
    database: str = "master"
    database_id: int = 1
    user: int = -1
    blocked_by: int = 0
    table: WorkloadTable | None = None
    client: Client | None = None

    @property
    def names(self) -> dict[str, str]:
        """What SET clientname and its kin gave it."""
        return self.client.state.names if self.client else {}


@dataclass(frozen=True, slots=True)
class ProcessSnapshot:
    """All processes of one moment, by spid."""

    processes: tuple[Process, ...]

    def users(self) -> Iterator[Process]:
        """The processes of the workload's users."""
        return (process for process in self.processes if process.user >= 0)


def process_snapshot(world: World) -> ProcessSnapshot:
    """All processes at the world's present second."""
    return ProcessSnapshot((*_system(world), *_clients(world), *_users(world, int(world.seconds))))


def lock_waits(world: World, seconds: int) -> int:
    """How many processes have waited for a lock for that long."""
    moment = int(world.seconds)
    mean = _mean_waits(world).get(_LOCK, 0.0)
    users = [_waited(mean, _mix(number, moment)) for number in _states(world, moment)[1]]
    clients = [client.waiting_s for client in _clients(world) if client.blocked_by]
    return sum(waited >= seconds for waited in (*users, *clients))


def _system(world: World) -> Iterator[Process]:
    for index, (command, event) in enumerate(DEFAULTS["system_tasks"].items()):
        spid = _FIRST_SYSTEM_SPID + index
        yield Process(
            spid=spid,
            kpid=_FIRST_SYSTEM_KPID + spid,
            command=command,
            status="sleeping",
            wait_event=event,
            waiting_s=int(world.seconds) % 60,
            engine=index % len(world.online),
            since=world.started,
        )


def _clients(world: World) -> Iterator[Process]:
    now = world.clock.utc(world.clock.seconds())
    for client in world.sessions.clients.values():
        request, state = client.request, client.state
        yield Process(
            spid=client.spid,
            kpid=client.kpid,
            login=request.user,
            suid=1 if request.user == "sa" else 3,
            host=request.hostname,
            program=request.program,
            address=request.address,
            database=state.database,
            database_id=state.database_id,
            command=state.command,
            status=_status(state.wait_event),
            wait_event=state.wait_event,
            waiting_s=int((now - state.wait_since).total_seconds()) if state.wait_since else 0,
            engine=client.spid % len(world.online) if not state.wait_event else -1,
            since=client.since,
            blocked_by=state.blocked_by,
            client=client,
        )


def _users(world: World, moment: int) -> tuple[Process, ...]:
    """The users of a moment, which several tables of a scrape show."""
    if world.users_seen is None or world.users_seen[0] != moment:
        world.users_seen = moment, tuple(_users_of(world, moment))
    return world.users_seen[1]


def _users_of(world: World, moment: int) -> Iterator[Process]:
    states, blockers = _states(world, moment)
    tables = world.inventory.tables
    home = world.inventory.own_databases
    means = _mean_waits(world)
    for number, event in enumerate(states):
        mix = _mix(number, moment)
        table = tables[mix % len(tables)] if tables else None
        database = table.object.database if table else (home[0].name if home else "master")
        idle = event == 250
        yield Process(
            spid=FIRST_USER_SPID + number,
            kpid=FIRST_USER_KPID + number,
            login=world.workload.login,
            suid=4,
            host=f"app{number % 8 + 1:02d}",
            program=world.workload.program,
            address=f"192.0.2.{number % 8 + 11}",
            database=database,
            database_id=world.inventory.databases[database],
            command="AWAITING COMMAND" if idle else _COMMANDS[mix % len(_COMMANDS)],
            status=_status(event),
            wait_event=max(event, 0),
            waiting_s=_waited(means.get(event, 0.0), mix),
            engine=number % len(world.online) if event <= 0 else -1,
            since=world.started,
            user=number,
            blocked_by=blockers.get(number, 0),
            table=table,
        )


_RUNNING, _RUNNABLE, _LOCK = 0, 215, 150


def _mix(number: int, moment: int) -> int:
    """What makes a user differ from others, and from itself at another moment."""
    return (number * 2654435761 + moment * 40503) & 0xFFFFFFFF


def _waited(mean: float, mix: int) -> int:
    """Seconds that a user has waited, from those of an average wait."""
    return int(mean * -math.log((mix % 997 + 1) / 998))


def _mean_waits(world: World) -> dict[int, float]:
    """Seconds of an average wait for each event; single waits spread around it exponentially."""
    flows = world.operation.flows
    waits = {name.split()[1]: rate for name, rate in flows.items() if name.startswith("waits ") and rate > 0}
    return {int(event): flows[f"wait seconds {event}"] / rate for event, rate in waits.items()}


def _status(event: int) -> str:
    if event == _RUNNING:
        return "running"
    if event == _RUNNABLE:
        return "runnable"
    if event == _LOCK:
        return "lock sleep"
    return "recv sleep" if event == 250 else "sleeping"


def _states(world: World, moment: int) -> tuple[list[int], dict[int, int]]:
    """The wait event of each user, and user -> blocking spid for those that wait for a lock."""
    users = world.workload.users
    flows = world.operation.flows
    weights = {
        int(name.rsplit(" ", 1)[1]): rate
        for name, rate in flows.items()
        if name.startswith("wait seconds ") and not name.endswith((" 19", " 57", " 61", " 179", " 260"))
    }
    weights[_RUNNING] = max(world.operation.point.busy - world.workload.background_cpu, 0.0)
    total = sum(weights.values())
    if not users or not total:
        return [250] * users, {}
    return _drawn(tuple(sorted(weights.items())), users, world.seed, moment)


@lru_cache(maxsize=4)
def _drawn(
    weights: tuple[tuple[int, float], ...], users: int, seed: int, moment: int
) -> tuple[list[int], dict[int, int]]:
    random = np.random.default_rng([seed, moment])
    values = np.array([weight for _, weight in weights])
    counts = random.multinomial(users, values / values.sum())
    states: list[int] = random.permutation(np.repeat([event for event, _ in weights], counts)).tolist()
    blocked = [number for number, event in enumerate(states) if event == _LOCK]
    # Where nobody works, a client that is idle holds the locks in an open transaction.
    holders = [number for number, event in enumerate(states) if event not in (_LOCK, 250)]
    holders = holders or [number for number, event in enumerate(states) if event == 250]
    if not holders:
        return [250 if event == _LOCK else event for event in states], {}
    blockers: dict[int, int] = {}
    for index, number in enumerate(blocked):
        chained = index % _MAX_CHAIN
        by = blocked[index - 1] if chained else holders[index // _MAX_CHAIN % len(holders)]
        blockers[number] = FIRST_USER_SPID + by
    return states, blockers
