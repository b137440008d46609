"""Sees when a finding begins, as Prometheus has recorded it, and has an incident kept."""

import asyncio
import logging
from collections.abc import Mapping

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.web.incident_keeper import IncidentKeeper
from ase_exporter.web.recorded_states import RecordedStates

log = logging.getLogger(__name__)

# Seconds between two questions to Prometheus.
INTERVAL = 15.0


class IncidentWatch:
    """Watches the recorded states of all targets."""

    def __init__(self, states: RecordedStates, keeper: IncidentKeeper) -> None:
        self._states = states
        self._keeper = keeper
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
        """Have an incident kept of each target whose first finding is another than before."""
        recorded, problem = await self._states.read()
        if problem:
            return
        for target, state in recorded.items():
            finding = state.word if state.has_finding else ""
            before = self._known.get(target)
            self._known[target] = finding
            if finding and before is not None and finding != before:
                content = {"account": state.account, "next": _next_steps(finding)}
                self._keeper.begin(target, finding, content)


def _next_steps(word: str) -> Mapping[str, list[str]]:
    return {word: [step for each in catalogue().findings.values() if each.word == word for step in each.next]}
