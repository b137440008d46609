"""Locks of client sessions on client tables: rows and whole tables, held to the end of a transaction.

Writers lock the rows that they change; a reader at isolation level 1 waits for every changed row of its tables, as a
scan of the table would. Level 0 waits for nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from ase_simulator.contracts import ClientLock, ClientState
from ase_simulator.sql.errors import SqlError

LOCK_WAIT = 150
EXCLUSIVE, SHARED, INTENT = "exclusive", "shared", "exclusive intent"

Resource = tuple[int, int, int]
"""Ids of database and table, and number of the row; 0 for the table."""


@dataclass(slots=True)
class Locker:
    """A session as the locks see it. timeout: seconds that it waits at most, None for ever; killed: by KILL."""

    spid: int
    state: ClientState
    now: Callable[[], datetime]
    timeout: float | None = None
    timeout_level: str = "session"
    killed: bool = False
    held: dict[Resource, ClientLock] = field(default_factory=dict)
    waits_for: frozenset[int] = frozenset()


class Locks:
    """All locks of one server."""

    def __init__(self) -> None:
        self._lockers: dict[int, Locker] = {}
        self._released = asyncio.Event()

    def add(self, locker: Locker) -> None:
        self._lockers[locker.spid] = locker

    def remove(self, spid: int) -> None:
        if spid in self._lockers:
            self.release(self._lockers[spid])
            del self._lockers[spid]

    def wake(self) -> None:
        """Let every session that waits look again."""
        released, self._released = self._released, asyncio.Event()
        released.set()

    def release(self, locker: Locker) -> None:
        """Give up all locks of a session."""
        if locker.held:
            locker.held.clear()
            locker.state.locks.clear()
            self.wake()

    async def read(self, locker: Locker, table: tuple[int, int]) -> None:
        """Wait until no other session has changed the table."""
        await self._wait(locker, (*table, 0), SHARED, lambda: self._writers(locker, table))

    async def write(self, locker: Locker, table: tuple[int, int], rows: Iterable[int]) -> bool:
        """Lock rows exclusively; whether there was a wait, after which the rows may have changed."""
        waited = await self._wait(
            locker, (*table, 0), INTENT, lambda: self._holders(locker, (*table, 0), INTENT)
        )
        self._grant(locker, (*table, 0), INTENT)
        for row in rows:
            resource = (*table, row)
            waited |= await self._wait(
                locker, resource, EXCLUSIVE, partial(self._holders, locker, resource, EXCLUSIVE)
            )
            self._grant(locker, resource, EXCLUSIVE)
        return waited

    async def own(self, locker: Locker, table: tuple[int, int]) -> None:
        """Lock a whole table exclusively, for TRUNCATE and DROP."""
        resource = (*table, 0)
        await self._wait(locker, resource, EXCLUSIVE, lambda: self._users(locker, table))
        self._grant(locker, resource, EXCLUSIVE)

    def _others(self, locker: Locker) -> Iterator[Locker]:
        return (other for other in self._lockers.values() if other is not locker)

    def _users(self, locker: Locker, table: tuple[int, int]) -> Iterator[tuple[Locker, ClientLock]]:
        for other in self._others(locker):
            for resource, lock in other.held.items():
                if resource[:2] == table:
                    yield other, lock

    def _writers(self, locker: Locker, table: tuple[int, int]) -> Iterator[tuple[Locker, ClientLock]]:
        return (found for found in self._users(locker, table) if found[1].kind == EXCLUSIVE)

    def _holders(self, locker: Locker, resource: Resource, kind: str) -> Iterator[tuple[Locker, ClientLock]]:
        for other in self._others(locker):
            lock = other.held.get(resource)
            if lock is not None and not (lock.kind == kind == INTENT):
                yield other, lock

    def _grant(self, locker: Locker, resource: Resource, kind: str) -> None:
        held = locker.held.get(resource)
        if held is None:
            lock = ClientLock(resource[0], resource[1], kind, resource[2])
            locker.held[resource] = lock
            locker.state.locks.append(lock)
        elif kind == EXCLUSIVE:
            held.kind = kind

    async def _wait(
        self,
        locker: Locker,
        resource: Resource,
        kind: str,
        blockers: Callable[[], Iterator[tuple[Locker, ClientLock]]],
    ) -> bool:
        """Wait until there are no blockers; raises SqlError 1205 for a deadlock, 12205 after the time-out."""
        found = list(blockers())
        if not found:
            return False
        request = ClientLock(resource[0], resource[1], kind, resource[2], requested=True)
        locker.state.locks.append(request)
        locker.state.wait(LOCK_WAIT, locker.now())
        try:
            async with asyncio.timeout(locker.timeout):
                while found := list(blockers()):
                    if locker.killed:
                        raise SqlError(6002)
                    locker.waits_for = frozenset(other.spid for other, _ in found)
                    locker.state.blocked_by = found[0][0].spid
                    for _, lock in found:
                        lock.blocking = True
                    if self._deadlocked(locker):
                        raise SqlError(1205, 0, locker.spid)
                    await self._released.wait()
        except TimeoutError:
            raise SqlError(12205, locker.timeout_level) from None
        finally:
            locker.state.locks.remove(request)
            locker.waits_for, locker.state.blocked_by = frozenset(), 0
            locker.state.wait(0, locker.now())
            for _, lock in found:
                lock.blocking = False
        return True

    def _deadlocked(self, locker: Locker) -> bool:
        """Whether those that a session waits for wait for it, directly or through others."""
        seen: set[int] = set()
        pending = list(locker.waits_for)
        while pending:
            spid = pending.pop()
            if spid == locker.spid:
                return True
            if spid not in seen and spid in self._lockers:
                seen.add(spid)
                pending += self._lockers[spid].waits_for
        return False
