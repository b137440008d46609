"""Keeps who ran what when something bad begins.

At once, and once more a minute later with what statements cost since, and by the name that it has then.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import DOWN, Diagnosis, Finding
from ase_exporter.scraping.targets import Answer
from ase_exporter.sessions.incidents import Incidents
from ase_exporter.sessions.session import Snapshot
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS

log = logging.getLogger(__name__)

# Seconds: what statements cost is a difference over this time, while no other incident of the server begins.
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
        self._last: dict[str, Diagnosis] = {}
        # What is bad about each target, by its last diagnoses or by its newest incident.
        self._bad: dict[str, frozenset[str]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Take up what was bad before a restart: what goes on is not kept again."""
        self._bad = await asyncio.to_thread(lambda: self.kept().bad())

    def note(self, target: str, found: Diagnosis) -> None:
        """Keep an incident in the background when something bad begins, which sessions can show: one at a time."""
        if found.state == DOWN:
            return
        self._last[target] = found
        bad = {each.name: each for each in found.findings if each.level == "bad"}
        before = self._bad.get(target, frozenset())
        # What cannot be judged now, such as before the second scrape, may go on.
        self._bad[target] = before & {each.name for each in found.unknown} | bad.keys()
        begun = next((each for name, each in bad.items() if name not in before), None)
        now = self._clock.monotonic()
        self._begun = {key: at for key, at in self._begun.items() if now - at < SAME}
        if begun is None or target in self._tasks or (target, begun.word) in self._begun:
            return
        self._begun[target, begun.word] = now
        account = dict(found.account.parts)
        task = self._tasks[target] = asyncio.create_task(self._keep(target, begun, account))
        task.add_done_callback(lambda _: self._tasks.pop(target))

    async def finished(self) -> None:
        """Wait for those that have begun."""
        await asyncio.gather(*self._tasks.values())

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def _keep(self, target: str, finding: Finding, account: Mapping[str, float]) -> None:
        async def written(finding: Finding, snapshot: Snapshot, **later: object) -> str:
            content = {"account": account, "next": {finding.word: list(finding.next_steps)}, **later}
            content["bad"] = sorted(self._bad[target])
            return await asyncio.to_thread(self.kept().keep, target, finding.word, snapshot, content)

        try:
            first = await self._read(target)
            name = await written(finding, first)
            log.info("target %s: incident %s is kept: %s", target, name, finding.word)
            text = f"{finding.word}: incident {name} (/incidents of the exporter)"
            await self._annotate(
                Change(new_id(), target, ANNOTATION, text, "", "", first.at, source="incident", tags=(TAG,))
            )
            await self._sleep(LATER)
            then = await self._read(target)
            # What says more of the same by now.
            says_more = {
                *catalogue().findings[finding.name].unless,
                *catalogue().findings[finding.name].after,
            }
            finding = next((each for each in self._last[target].findings if each.name in says_more), finding)
            self._begun[target, finding.word] = self._clock.monotonic()
            await written(finding, replace(first, statements=then.statements), later=then.active)
        except KeyError:
            log.info("target %s: is gone: its incident is not kept, or has no statements", target)
        except Exception as error:
            # A full disk or a bug costs the incident, never the exporter; a server in trouble is asked again.
            self._begun.pop((target, finding.word), None)
            log.warning("target %s: the incident is not kept, or not whole: %s", target, error)

    async def _read(self, target: str) -> Snapshot:
        answer = await self._sessions(target, SESSIONS, STATEMENTS)
        if answer.sessions is None:
            raise OSError(answer.summary.error or "no answer in time")
        return answer.sessions
