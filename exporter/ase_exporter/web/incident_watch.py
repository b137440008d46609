"""Keeps who ran what when a finding begins, as Prometheus has recorded it: one look, then quiet until it is over."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.sessions.incidents import Incidents
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS
from ase_exporter.web.recorded_states import RecordedState, RecordedStates
from ase_exporter.workers.messages import ScrapeReply

log = logging.getLogger(__name__)

# Seconds between two questions to Prometheus.
INTERVAL = 15.0


class IncidentWatch:
    """Watches the recorded states of all targets. sessions: reads a target's sessions now."""

    def __init__(
        self,
        states: RecordedStates,
        incidents: Incidents,
        sessions: Callable[..., Awaitable[ScrapeReply]],
    ) -> None:
        self._states = states
        self._incidents = incidents
        self._sessions = sessions
        # The first finding of each target, '' without one; those of the start are not new.
        self._known: dict[str, str] = {}

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                await self.check()
            except Exception:
                # A bug must not end the watch, and never the exporter.
                log.exception("incidents: unexpected error")
            await asyncio.sleep(INTERVAL)

    async def check(self) -> None:
        """Keep an incident of each target whose first finding is another than before."""
        recorded, problem = await self._states.read()
        if problem:
            return
        for target, state in recorded.items():
            finding = state.word if state.has_finding else ""
            before = self._known.get(target)
            self._known[target] = finding
            if finding and before is not None and finding != before:
                await self._keep(target, finding, state)

    async def _keep(self, target: str, finding: str, state: RecordedState) -> None:
        try:
            reply = await self._sessions(target, SESSIONS, STATEMENTS)
        except KeyError:
            return
        if reply.sessions is None:
            log.warning(
                "target %s: no incident is kept: %s", target, reply.summary.error or "no answer in time"
            )
            return
        try:
            name = await asyncio.to_thread(
                self._incidents.keep, target, finding, reply.sessions, state.account, _next_steps(finding)
            )
        except OSError as error:
            log.warning("target %s: no incident is kept: %s", target, error)
        else:
            log.info("target %s: incident %s is kept: %s", target, name, finding)


def _next_steps(word: str) -> Mapping[str, list[str]]:
    return {word: [step for each in catalogue().findings.values() if each.word == word for step in each.next]}
