"""Some time after each change: was it better or worse? Told as an annotation at its mark, and as a metric."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ase_exporter.changes.change import ANNOTATION, Change
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import shorten
from ase_exporter.changes.store import StoreError
from ase_exporter.compare.comparison import Comparison, Row, compare_windows
from ase_exporter.compare.config import VerdictConfig
from ase_exporter.compare.windows import VERDICT, Mark, around
from ase_exporter.errors import UserError
from ase_exporter.families import Family
from ase_exporter.prometheus import Prometheus

log = logging.getLogger(__name__)

# Kinds that change nothing in how the server works.
UNJUDGED = (ANNOTATION, "counters_cleared")
LABEL_LENGTH = 80
TAG = "verdict"


@dataclass(frozen=True, slots=True)
class Judged:
    """A change and what came of it; rows: none where nothing could be said."""

    change: Change
    rows: tuple[Row, ...] = ()


class Judge:
    """Watches the journal of changes; `run` goes on until it is cancelled."""

    def __init__(self, config: VerdictConfig, journal: Journal, targets: Callable[[], Sequence[str]]) -> None:
        self._config = config
        self._journal = journal
        self._targets = targets
        self._judged: dict[str, dict[str, Judged]] = {}

    async def run(self) -> None:
        """Judge what is due, again and again."""
        while True:
            await self.judge_due(time.time())
            await asyncio.sleep(self._config.interval)

    async def judge_due(self, now: float) -> None:
        """Judge every change that has been in force for long enough and has no verdict yet."""
        for target in self._targets():
            recent = [change for change in self._journal.recent(target) if change.kind not in UNJUDGED]
            known = self._judged.get(target, {})
            # What the journal forgets is forgotten here too.
            self._judged[target] = {change.id: known[change.id] for change in recent if change.id in known}
            for change in self._last_of_each_group(recent):
                due = change.at + self._config.settle + self._config.length
                if due <= now and change.id not in self._judged[target]:
                    self._judged[target][change.id] = await self._judge(target, change, recent, now)

    def families(self, target: str) -> list[Family]:
        """The verdicts on a target's recent changes, for its scrape."""
        family = Family(
            "ase_change_effect_ratio",
            "gauge",
            "Difference after a change, as a share of the value before; the verdict says how sure (compare).",
            ("from", "kind", "measure", "name", "row", "to", "verdict"),
        )
        for judged in self._judged.get(target, {}).values():
            change = judged.change
            for row in judged.rows:
                (difference,) = row.steps
                if difference is not None and not math.isnan(difference.relative):
                    labels = (change.old, change.kind, row.key, change.name, row.name, change.new)
                    family.add(
                        difference.relative,
                        *(shorten(text, LABEL_LENGTH) for text in labels),
                        difference.verdict,
                    )
        return [family] if family.samples else []

    def _last_of_each_group(self, changes: Sequence[Change]) -> list[Change]:
        """Changes made together are judged together, once."""
        ordered = sorted(changes, key=lambda change: change.at)
        return [
            change
            for number, change in enumerate(ordered)
            if number + 1 == len(ordered) or ordered[number + 1].at - change.at > self._config.settle
        ]

    async def _judge(self, target: str, change: Change, recent: Sequence[Change], now: float) -> Judged:
        try:
            result = await asyncio.to_thread(self._compare, target, change, recent, now)
        except UserError as error:
            log.info("target %s: no verdict on %s: %s", target, change.describe(), error)
            return Judged(change)
        verdict = Change(
            id=f"{change.id}-{TAG}",
            target=target,
            kind=ANNOTATION,
            name=verdict_text(change, result),
            old="",
            new="",
            at=change.at,
            source="verdict",
            tags=(TAG,),
        )
        try:
            await self._journal.annotate(verdict)
        except StoreError as error:
            log.warning("target %s: verdict not kept: %s", target, error)
        return Judged(change, result.rows)

    def _compare(self, target: str, change: Change, recent: Sequence[Change], now: float) -> Comparison:
        marks = [Mark(other.at, other.kind, other.name, other.old, other.new) for other in recent]
        mark = next(mark for mark in marks if (mark.at, mark.name) == (change.at, change.name))
        config = self._config
        with Prometheus(config.prometheus) as prometheus:
            spans = around(mark, marks, now, length=config.length, settle=config.settle)
            selector = config.selector.replace("{target}", target)
            return compare_windows(prometheus, selector, spans, keys=config.measures, marks=marks)


def verdict_text(change: Change, result: Comparison) -> str:
    """One line: what got better and worse, the rest in short."""
    parts: dict[str, list[str]] = {"better": [], "worse": [], "changed": []}
    unsure = 0
    for row in result.rows:
        (difference,) = row.steps
        if difference is None or difference.verdict == "no evidence":
            unsure += 1
            continue
        before, after = (row.measure.show(window.median) for window in (difference.before, difference.after))
        parts[difference.verdict].append(f"{row.title} {before} → {after}")
    told = [f"{verdict}: {', '.join(found)}" for verdict, found in parts.items() if found]
    if unsure:
        told.append(f"no evidence in {unsure} more")
    return f"{VERDICT}{change.kind} {change.name}: {'; '.join(told)}"
