"""Keeps who ran what when something bad begins.

At once, and once more a minute later with what statements cost since.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.diagnosis.diagnose import DOWN, Diagnosis
from ase_exporter.scraping.targets import Answer
from ase_exporter.sessions.incidents import Incidents
from ase_exporter.sessions.session import Snapshot
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS

log = logging.getLogger(__name__)

# Seconds: what statements cost is a difference over this time, in which no other incident of the server begins.
LATER = 60.0
# Seconds in which the same finding is not kept again.
SAME = 600.0
TAG = "incident"


class IncidentKeeper:
    """Keeps incidents of all targets. kept: gives where. sessions: reads a target's now. annotate: adds a change."""

    def __init__(
        self,
        kept: Callable[[], Incidents],
        sessions: Callable[..., Awaitable[Answer]],
        annotate: Callable[[Change], Awaitable[None]],
        clock: Clock = SYSTEM_CLOCK,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.kept = kept
        self._sessions = sessions
        self._annotate = annotate
        self._clock = clock
        self._sleep = sleep
        self._begun: dict[tuple[str, str], float] = {}
        # What was bad about each target in its last diagnosis.
        self._bad: dict[str, frozenset[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, target: str, found: Diagnosis) -> None:
        """Keep an incident when something bad begins, which sessions can show."""
        if found.state == DOWN:
            return
        bad = {each.name: each for each in found.findings if each.level == "bad"}
        begun = [each for name, each in bad.items() if name not in self._bad.get(target, ())]
        self._bad[target] = frozenset(bad)
        if begun:
            content = {
                "account": dict(found.account.parts),
                "next": {each.word: list(each.next_steps) for each in begun[:1]},
            }
            self.begin(target, begun[0].word, content)

    def begin(self, target: str, finding: str, content: Mapping[str, object]) -> bool:
        """Keep one in the background; False if one of the target, or of the same finding, was kept lately.

        finding: its word. content: what is known besides, as `Incidents.keep` has it.
        """
        now = self._clock.monotonic()
        self._begun = {key: at for key, at in self._begun.items() if now - at < SAME}
        running = (at for (name, _), at in self._begun.items() if name == target)
        if (target, finding) in self._begun or any(now - at < LATER for at in running):
            return False
        self._begun[target, finding] = now
        task = asyncio.create_task(self._keep(target, finding, content))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def finished(self) -> None:
        """Wait for those that have begun."""
        await asyncio.gather(*self._tasks)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _keep(self, target: str, finding: str, content: Mapping[str, object]) -> None:
        try:
            first = await self._read(target)
            name = await asyncio.to_thread(self.kept().keep, target, finding, first, content)
            log.info("target %s: incident %s is kept: %s", target, name, finding)
            text = f"{finding}: incident {name} (/incidents of the exporter)"
            await self._annotate(
                Change(new_id(), target, ANNOTATION, text, "", "", first.at, source="incident", tags=(TAG,))
            )
            await self._sleep(LATER)
            then = await self._read(target)
            whole = replace(first, statements=then.statements)
            await asyncio.to_thread(
                self.kept().keep, target, finding, whole, {**content, "later": then.active}
            )
        except KeyError:
            log.info("target %s: is gone: its incident is not kept, or has no statements", target)
        except Exception as error:
            # A full disk or a bug costs the incident, never the exporter; a server in trouble is asked again.
            self._begun.pop((target, finding), None)
            log.warning("target %s: the incident is not kept, or not whole: %s", target, error)

    async def _read(self, target: str) -> Snapshot:
        answer = await self._sessions(target, SESSIONS, STATEMENTS)
        if answer.sessions is None:
            raise OSError(answer.summary.error or "no answer in time")
        return answer.sessions
