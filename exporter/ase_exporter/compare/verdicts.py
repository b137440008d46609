"""Automatic verdicts: a comparison of before and after each change, as an annotation and as a metric."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence

from ase_exporter.changes.change import ANNOTATION, HARMLESS_KINDS, VERDICT, Change
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import shorten
from ase_exporter.changes.store import StoreError
from ase_exporter.compare.comparison import Comparison, ComparisonRow, compare_windows
from ase_exporter.compare.prometheus import Prometheus, PrometheusError
from ase_exporter.compare.request import windows_around
from ase_exporter.compare.view import headline
from ase_exporter.compare.windows import groups_of_changes
from ase_exporter.config.changes import VerdictConfig
from ase_exporter.errors import UserError
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family

log = logging.getLogger(__name__)

LABEL_LENGTH = 80
TAG = "verdict"


class VerdictService:
    """Compares before and after each change in the journal; `run` ends when it is cancelled."""

    def __init__(self, config: VerdictConfig, journal: Journal, targets: Callable[[], Sequence[str]]) -> None:
        self._config = config
        self._journal = journal
        self._targets = targets
        # By target and id of the change; without rows where a comparison was not possible.
        self._verdicts: dict[str, dict[str, tuple[Change, Sequence[ComparisonRow]]]] = {}

    async def run(self) -> None:
        """Add verdicts that are due, at the configured interval."""
        while True:
            await self.add_due_verdicts(time.time())
            await asyncio.sleep(self._config.interval)

    async def add_due_verdicts(self, now: float) -> None:
        """Add a verdict on every change without one that was made settle + length or more before `now`.

        While Prometheus does not answer, it is left for the next time.
        """
        for target in self._targets():
            try:
                await self._judge(target, now)
            except PrometheusError as error:
                log.info("target %s: its verdicts are tried again: %s", target, error)

    async def _judge(self, target: str, now: float) -> None:
        recent = [change for change in self._journal.recent(target) if change.kind not in HARMLESS_KINDS]
        known = self._verdicts.get(target, {})
        # Verdicts on changes that the journal has dropped are dropped, too.
        self._verdicts[target] = {change.id: known[change.id] for change in recent if change.id in known}
        # Changes that nothing separates get one verdict, on the last of them.
        for group in groups_of_changes(recent, self._config.settle):
            change = group[-1]
            due = change.at + self._config.settle + self._config.length
            if due <= now and change.id not in self._verdicts[target]:
                rows = await self._add_verdict(target, change, recent, now)
                self._verdicts[target][change.id] = change, rows

    def families(self, target: str) -> list[Family]:
        """Metrics of the verdicts on a target's recent changes, for its scrape."""
        family = OWN.family("ase_change_effect_ratio")
        for change, rows in self._verdicts.get(target, {}).values():
            for row in rows:
                (difference,) = row.steps
                if difference is not None and not math.isnan(difference.relative):
                    labels = (change.old, change.kind, row.key, change.name, row.name, change.new)
                    family.add(
                        difference.relative,
                        *(shorten(text, LABEL_LENGTH) for text in labels),
                        difference.verdict,
                    )
        return [family] if family.samples else []

    async def _add_verdict(
        self, target: str, change: Change, recent: Sequence[Change], now: float
    ) -> Sequence[ComparisonRow]:
        try:
            result = await asyncio.to_thread(self._compare, target, change, recent, now)
        except PrometheusError:
            raise
        except UserError as error:
            log.info("target %s: no verdict on %s: %s", target, change.describe(), error)
            return ()
        name = f"{VERDICT}{change.kind} {change.name}: {headline(result)}"
        new_id = f"{change.id}-{TAG}"
        verdict = Change(new_id, target, ANNOTATION, name, "", "", change.at, source="verdict", tags=(TAG,))
        try:
            await self._journal.annotate(verdict)
        except StoreError as error:
            log.warning("target %s: verdict not kept: %s", target, error)
        return result.rows

    def _compare(self, target: str, change: Change, recent: Sequence[Change], now: float) -> Comparison:
        config = self._config
        selector = config.selector.replace("{target}", target)
        with Prometheus(config.prometheus) as prometheus:
            near, spans = windows_around(
                prometheus, selector, change, recent, now, length=config.length, settle=config.settle
            )
            return compare_windows(prometheus, selector, spans, keys=config.measures, marks=near)
