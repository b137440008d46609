"""What Prometheus has recorded of the targets, for the landing page: first findings, and alerts that fire."""

import asyncio
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.config.changes import VerdictConfig
from ase_exporter.diagnosis.diagnose import level_of
from ase_exporter.errors import UserError

# Seconds. However often the page is opened, Prometheus is asked no more often, and a page waits no longer.
FRESH, TIMEOUT = 10.0, 3.0
_STYLES = {"bad": "worse", "warn": "changed", "good": "better"}
_OF_TARGET = re.compile(r'(\w+)\s*=\s*"\{target\}"')


@dataclass(slots=True)
class RecordedState:
    """word: of the first finding, or of the state without one; '' if none is recorded. rank: the finding's.

    account: seconds per second by part of the time account.
    """

    word: str = ""
    rank: float = math.nan
    alerts: set[str] = field(default_factory=set)
    account: dict[str, float] = field(default_factory=dict)

    @property
    def has_finding(self) -> bool:
        """Whether something is wrong; states without a finding have negative ranks."""
        return self.rank >= 0

    @property
    def style(self) -> str:
        """The page's class for how bad it is."""
        return _STYLES[level_of(self.rank)]


class RecordedStates:
    """The recorded states of all targets, by one query."""

    def __init__(self, config: VerdictConfig) -> None:
        self._config = config
        self._lock = asyncio.Lock()
        self._asked = -math.inf
        self._found: Mapping[str, RecordedState] = {}
        self._problem = ""

    async def read(self) -> tuple[Mapping[str, RecordedState], str]:
        """States by target, and why there are none, or ''."""
        async with self._lock:
            if time.monotonic() - self._asked >= FRESH:
                try:
                    self._found, self._problem = await asyncio.to_thread(self._query), ""
                except UserError as error:
                    self._found, self._problem = {}, str(error)
                self._asked = time.monotonic()
            return self._found, self._problem

    def _query(self) -> Mapping[str, RecordedState]:
        label = _OF_TARGET.search(self._config.selector)
        if label is None:
            raise UserError(
                'verdicts.selector: expected a label that equals the target, such as instance="{target}"'
            )
        selector = self._config.selector.replace(label[0], f'{label[1]}!=""')
        query = (
            f'ase:diagnosis_first:rank{{{selector}}} or ALERTS{{alertstate="firing", {selector}}}'
            f" or ase:diagnosis_account:seconds_rate1m{{{selector}}}"
        )
        found: dict[str, RecordedState] = {}
        with Prometheus(self._config.prometheus, timeout=TIMEOUT) as prometheus:
            for sample in prometheus.query(query):
                state = found.setdefault(sample.labels.get(label[1], ""), RecordedState())
                if "alertname" in sample.labels:
                    state.alerts.add(sample.labels["alertname"])
                elif "part" in sample.labels:
                    state.account[sample.labels["part"]] = sample.value
                else:
                    state.word, state.rank = sample.labels.get("word", ""), sample.value
        return found
