"""The diagnosis: findings ranked by the share of the time account that they explain, and what is not known."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ase_exporter.diagnosis.account import CPU_PARTS, RUN_QUEUE, Account, account_of
from ase_exporter.diagnosis.catalogue import (
    OF_ACCOUNT,
    PART_GROWN,
    REACHED,
    SESSIONS,
    SHARE,
    Bounds,
    FindingDefinition,
    catalogue,
    threshold,
)
from ase_exporter.diagnosis.measures import NO_BASELINE as NO_HISTORY
from ase_exporter.diagnosis.measures import Measure, Measures, Readings, above, read_measures, wait_seconds
from ase_exporter.sessions.blocking import chain_heads
from ase_exporter.views.figures import shown

Level = Literal["bad", "warn", "good", "none"]
Confidence = Literal["high", "medium", "low"]
# The state of a server that does not answer, and states without a finding.
DOWN = "down"
WORKS, IDLE, NOT_KNOWN, STARTING = "works", "idle", "not_known", "starting"
TOO_FEW = "too few samples"
NOT_COMPARED = "not compared with before"
SECONDS_PER_SPIN = "spinlock.seconds_per_spin"
BLOCKED = "ase_blocked_process_seconds"
# Engines that idle count their time, too; the server's own tasks, and the session that reads it, wait and spin.
NEVER_STILL = ("engine_time", "waited", "grabs")
# Ranks of states without a finding: what comes first on a list of servers comes first here.
STATE_RANKS = {NOT_KNOWN: -1.0, WORKS: -2.0, IDLE: -3.0, STARTING: -4.0}
# What a finding that does not stop work counts more than its share.
RISK = 0.0001
# By how much each finding counts less than the one before it in findings.yaml, so that no two are equal.
ORDER = 1e-6


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about. Names come from the server: they are data, and no part of a sentence."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    share: of the account that it explains, 0-1, None if it explains no part of it. rank: by which findings are
    ordered. usual: the share in the baseline, None if not known. evidence: the measures on which it rests.
    """

    name: str
    word: str
    text: str
    share: float | None
    rank: float
    level: Level
    confidence: Confidence
    usual: float | None
    subject: Subject | None
    evidence: tuple[Measure, ...]
    next_steps: tuple[str, ...]
    expect: str = ""

    @property
    def sentence(self) -> str:
        """The finding with the name of what it is about first, for a terminal."""
        about = f"{self.subject.kind} {self.subject.name}: " if self.subject else ""
        return f"{self.word}: {about}{self.text}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A finding that cannot be judged. vital: without it nothing is called well; it may even hold."""

    name: str
    word: str
    reason: str
    vital: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong with a server, the worst first, or that nothing is, or that it is not known.

    state: the name of the first finding, else works, idle, not_known or starting. source: of the readings. besides:
    what is large in the account beside the findings, and none of them explains.
    """

    state: str
    word: str
    text: str
    level: Level
    findings: tuple[Finding, ...]
    unknown: tuple[Unknown, ...]
    account: Account
    measures: Measures
    source: str
    besides: tuple[str, ...] = ()

    @property
    def rank(self) -> float:
        """How bad it is compared with other servers; below 0 without a finding."""
        return self.findings[0].rank if self.findings else STATE_RANKS[self.state]

    @property
    def is_known(self) -> bool:
        """Whether enough was read for a verdict."""
        return self.state not in (NOT_KNOWN, STARTING)

    @property
    def seconds_per_spin(self) -> float | None:
        """CPU seconds of one spin, so that as many engines spin as the diagnosis says; None if that is not known."""
        share, engines, spins = (self.measures[name].value for name in ("spinning_share", "engines", "spins"))
        if share is None or engines is None or spins is None:
            return None
        return share * engines / spins if spins else threshold(SECONDS_PER_SPIN)

    @property
    def not_judged(self) -> str:
        """The vital findings that could not be judged beside those that were found, and why; '' if there are none."""
        if self.findings and self.measures["busy_share"].unknown == TOO_FEW:
            return f"what needs rates is not judged yet ({TOO_FEW})"
        blind = [each for each in self.unknown if each.vital and each.reason != TOO_FEW]
        return not_judged_text(blind) if self.findings and blind else ""

    @property
    def sentence(self) -> str:
        """The verdict with the name of what it is about, for a terminal, and what else is large."""
        if not self.findings:
            return f"{self.word}: {self.text}"
        first, *others = self.findings
        least = threshold("diagnosis.some_share")
        large = [each for each in others if each.share is None or each.share >= least]
        also = dict.fromkeys([*(each.word for each in large if each.word != first.word), *self.besides])
        return first.sentence + (f"; also {', '.join(also)}" if also else "")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is usual on a server: values of measures by name; shares of the account, and its seconds in a transaction,
    by part."""

    measures: Mapping[str, float]
    shares: Mapping[str, float]
    per_transaction: Mapping[str, float]


NO_BASELINE = Baseline({}, {}, {})


def diagnose(readings: Readings, baseline: Baseline = NO_BASELINE) -> Diagnosis:
    """The diagnosis of one window."""
    measures = read_measures(readings, baseline.measures)
    account = account_of(measures, *wait_seconds(readings))
    judge = _Judge(measures, account, baseline, _root_blocker(readings))
    findings: list[Finding] = []
    unknown: list[Unknown] = []
    for order, (name, definition) in enumerate(catalogue().findings.items()):
        fits = judge.fits(definition)
        found = {each.name for each in findings}
        if fits and not found & set(definition.unless):
            doubts = [each for each in unknown if each.vital and each.name in definition.unless]
            is_last = bool(doubts or found & set(definition.after))
            findings.append(judge.finding(name, definition, order, doubts, is_last=is_last))
        elif fits is None:
            is_vital = definition.vital or bool(judge.uncertain(definition))
            unknown.append(Unknown(name, definition.word, judge.reason(definition), is_vital))
    findings.sort(key=lambda finding: -finding.rank)
    state, word, text, level = _verdict(judge, findings, unknown)
    explained = {catalogue().findings[each.name].part for each in findings}
    besides = (*judge.puzzles(explained), *judge.cold(state)) if findings else ()
    return Diagnosis(
        state, word, text, level, tuple(findings), tuple(unknown), account, measures, readings.source, besides
    )


def _root_blocker(readings: Readings) -> str:
    """The process (spid) that blocks others and is not blocked, as the collector `blocking` shows it; '' for none.

    It is the one for which others have waited longest, in sum: short waits that end by themselves are usual.
    """
    if readings.unknown(BLOCKED, is_rate=False):
        return ""
    rows = [(labels, seconds) for labels, seconds in readings.values(BLOCKED) if labels["spid"] != "rest"]
    if not any(seconds >= threshold("diagnosis.held_seconds") for _, seconds in rows):
        return ""
    return chain_heads([(labels["spid"], labels["blocked_by"], seconds) for labels, seconds in rows])[0]


def baseline_of(usual: Diagnosis) -> Baseline:
    """What was usual, by the diagnosis of a window before."""
    measures = {name: each.value for name, each in usual.measures.items() if each.value is not None}
    account = usual.account
    shares = {part: account.caused(part) for part in account.parts}
    each = {part: account.per_transaction(part) for part in account.parts}
    return Baseline(
        measures,
        {part: share for part, share in shares.items() if share is not None},
        {part: seconds for part, seconds in each.items() if seconds is not None},
    )


def typical(baselines: Sequence[Baseline], middle: Callable[[Iterable[float]], float]) -> Baseline:
    """What was usual on the whole, each value over those that have it. middle: their mean or median."""

    def over(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
        names = dict.fromkeys(name for each in values for name in each)
        return {name: middle([each[name] for each in values if name in each]) for name in names}

    return Baseline(
        over([each.measures for each in baselines]),
        over([each.shares for each in baselines]),
        over([each.per_transaction for each in baselines]),
    )


def unreachable(readings: Readings, reason: str) -> Diagnosis:
    """The diagnosis of a server that does not answer. reason: one line."""
    definition = catalogue().findings[DOWN]
    measures = read_measures(readings)
    rank, steps = definition.stops, tuple(definition.next)
    found = Finding(DOWN, definition.word, reason, None, rank, "bad", "high", None, None, (), steps)
    account = account_of(measures, *wait_seconds(readings))
    return Diagnosis(DOWN, found.word, reason, "bad", (found,), (), account, measures, readings.source)


def level_of(rank: float) -> Level:
    """How bad a rank is, that of a finding or of a state without one."""
    if rank >= threshold("diagnosis.severe_share"):
        return "bad"
    return "warn" if rank >= STATE_RANKS[NOT_KNOWN] else "good"


def _verdict(
    judge: "_Judge", findings: Sequence[Finding], unknown: Sequence[Unknown]
) -> tuple[str, str, str, Level]:
    if findings:
        first = findings[0]
        return first.name, first.word, first.text, first.level
    measures = judge.measures
    busy = measures["busy_share"]
    blind = [each for each in unknown if each.vital]
    if busy.unknown == TOO_FEW or (blind and all(each.reason == TOO_FEW for each in blind)):
        return STARTING, "WAITING", "figures are differences: a few more samples are needed", "none"
    if still := [measures[name].title for name in NEVER_STILL if measures[name].value == 0]:
        text = f"counters stand still that grow on an idle server, too: {', '.join(still)}"
        return NOT_KNOWN, "NOT KNOWN", text, "warn"
    if blind or busy.value is None:
        why = not_judged_text(blind, busy.unknown)
        text = f"nothing is wrong in what was read; {why}; see ase-exporter check"
        return NOT_KNOWN, "NOT KNOWN", text, "warn"
    if puzzles := judge.puzzles():
        text = f"nothing is wrong for certain, but {', '.join(puzzles)}{_not_compared(measures, unknown)}"
        return NOT_KNOWN, "NOT KNOWN", text, "warn"
    figures = [f"engines {busy.text} busy", f"{measures['spinning_share'].text} spinning", *judge.remarks()]
    state = IDLE if busy.value < threshold("diagnosis.idle") else WORKS
    if state == WORKS and not judge.account.transactions:
        figures.append("no transactions")
    return state, state.upper(), f"{', '.join(figures)}{_not_compared(measures, unknown)}", "good"


def not_judged_text(unknown: Sequence[Unknown], otherwise: str = "") -> str:
    """Which findings were not judged, and why; otherwise: the reason where they have none."""
    parts = dict.fromkeys(part for each in unknown for part in each.reason.split("; "))
    reasons = "; ".join(parts) or otherwise
    return f"not judged: {', '.join(dict.fromkeys(each.word.lower() for each in unknown))} ({reasons})"


def _not_compared(measures: Measures, unknown: Iterable[Unknown]) -> str:
    """What an all-clear does not cover: findings that need to know what is usual."""
    known = catalogue()
    inputs = [name for each in unknown for name in known.inputs_of(known.findings[each.name])]
    grown = [measures[name] for name in inputs if known.measures[name].compared]
    reasons = dict.fromkeys(each.unknown for each in grown if each.unknown)
    reasons |= dict.fromkeys(NO_HISTORY for each in unknown if NO_HISTORY in each.reason.split("; "))
    return f"; {NOT_COMPARED}: {', '.join(reasons)}" if reasons else ""


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges findings by measures and account."""

    measures: Measures
    account: Account
    baseline: Baseline
    blocker: str

    def fits(self, definition: FindingDefinition) -> bool | None:
        """Whether a finding holds; None if that is not known."""
        known = [
            [self._within(definition, name, bounds) for name, bounds in limits.items()]
            for limits in definition.when
        ]
        return _decided(True, [_decided(False, limits) for limits in known])

    def reason(self, definition: FindingDefinition) -> str:
        """Why it is not known whether a finding holds."""
        of_account = OF_ACCOUNT & {name for limits in definition.when for name in limits}
        reasons = [
            reason
            for part, reason in self.account.unknown.items()
            if part == definition.part or (of_account and part != "spinning")
        ]
        reasons += [self.measures[name].unknown for name in catalogue().inputs_of(definition)]
        reasons += self.uncertain(definition)
        if PART_GROWN in of_account and self.part_grown(definition.part or "") is None:
            reasons.append(NO_HISTORY)
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    def uncertain(self, definition: FindingDefinition) -> list[str]:
        """The figures by which a finding may hold, but does not for certain."""
        limits = [(name, bounds) for each in definition.when for name, bounds in each.items()]
        near = {
            name
            for name, bounds in limits
            if bounds.surely and self._within(definition, name, bounds) is None
        }
        figures = [self.measures[name] for name in near]
        return [f"{each.title} {each.text}, not certain yet" for each in figures if each.value is not None]

    def finding(
        self,
        name: str,
        definition: FindingDefinition,
        order: int,
        doubts: Sequence[Unknown],
        *,
        is_last: bool,
    ) -> Finding:
        """One that holds. doubts: findings that would say more, were they known. is_last: its share does not count."""
        share = self._of_part(definition, self.account.caused(definition.part) if definition.part else None)
        usual = self._of_part(definition, self.baseline.shares.get(definition.part or ""))
        if definition.times and catalogue().measures[definition.times].compared:
            # It explains what is above the usual: none of that was there before.
            usual = None
        rank = self._rank(definition, None if is_last else share, usual) - ORDER * order
        inputs = catalogue().inputs_of(definition)
        says = {name: each.text for name, each in self.measures.items() if f"{{{name}}}" in definition.says}
        of_part = self.account.share(definition.part) if definition.part else None
        for key, value in ((SHARE, of_part), ("explained", share)):
            says[key] = "an unknown share" if value is None else shown(value, "ratio")
        # What is not known is no part of a sentence that says more.
        clauses = definition.says.split("; ")
        known = [each for each in clauses if of_part is not None or f"{{{SHARE}}}" not in each]
        if reached := self._reached(definition):
            says[REACHED] = reached.text
        says[PART_GROWN] = shown(self.part_grown(definition.part or ""), "ratio")
        return Finding(
            name=name,
            word=definition.word,
            text="; ".join(known or clauses).format(**says)
            + (f"; {not_judged_text(doubts)}" if doubts else ""),
            share=share,
            rank=rank,
            level=level_of(rank),
            confidence="low" if doubts or definition.perhaps else self._confidence(definition),
            usual=usual,
            subject=self._subject(definition),
            evidence=tuple(self.measures[each] for each in inputs),
            next_steps=tuple(definition.next),
            expect=definition.expect,
        )

    def _within(self, definition: FindingDefinition, name: str, bounds: Bounds) -> bool | None:
        if name == SHARE:
            value = self.account.share(definition.part) if definition.part else None
        elif name == SESSIONS:
            value = self.account.sessions
        elif name == PART_GROWN:
            return bounds.hold(self.part_grown(definition.part or ""))
        else:
            value = self.measures[name].value
        if value is None:
            return None
        if name == SHARE and definition.part in self.account.partial:
            return None
        if not self.account.whole and name in (SHARE, SESSIONS):
            # Of a part that is known, there is at most that share; in the others there may be more sessions.
            reached = value >= threshold(bounds.at_least or "0")
            if reached == (name == SHARE):
                return None
        return bounds.hold(value, 0.0 if name in OF_ACCOUNT else self.measures[name].spread)

    def part_grown(self, part: str) -> float | None:
        """How much of the part's time in a transaction is above the usual; None if one of them is not known.

        Nothing if sessions spend no more time there than usual: fewer transactions beside the same housekeeping.
        """
        if part in self.account.parts and self.account.transactions == 0:
            # There is none whose time could have grown; that they are missing is a finding of its own.
            return 0.0
        now, usual = self.account.per_transaction(part), self.baseline.per_transaction.get(part)
        if now is None or usual is None:
            return None
        before = usual * self.baseline.measures.get("transactions", 0.0)
        most = before * threshold("diagnosis.as_much") + threshold("diagnosis.by_chance")
        if self.account.parts[part] <= most:
            return 0.0
        return above(now, usual)

    def puzzles(self, explained: Collection[str | None] = ()) -> list[str]:
        """Large parts of the account that contradict an all-clear, without those that findings explain."""
        least = "diagnosis.some_share" if explained else "diagnosis.large_share"
        if "spinning" in explained and (self.account.caused(RUN_QUEUE) or 0.0) < threshold(least):
            # Tasks wait for engines because those spin.
            explained = {*explained, RUN_QUEUE}
        large = self._large_parts(least)
        return [text for part, text, contradicts in large if contradicts and part not in explained]

    def cold(self, finding: str) -> Iterator[str]:
        """That a server was started lately, where its first finding may come from its empty caches."""
        up_time = self.measures["up_time"]
        is_young = up_time.value is not None and 0 < up_time.value < threshold("diagnosis.cold_seconds")
        if is_young and catalogue().findings[finding].part in {"disk", "work"}:
            yield f"caches that may be cold (started {up_time.text} ago)"

    def remarks(self) -> list[str]:
        """Large parts of the account, each with why it is not wrong."""
        return [
            text for _, text, contradicts in self._large_parts("diagnosis.large_share") if not contradicts
        ]

    def _large_parts(self, least: str) -> Iterator[tuple[str, str, bool]]:
        """What is said of each part of the account, but CPU, that has that share or has grown; whether it is wrong."""
        if self.account.sessions < threshold("diagnosis.sessions"):
            return
        for name, definition in catalogue().account.items():
            share = self.account.share(name)
            grown = self.part_grown(name) if self.account.transactions else None
            if share is None or name in CPU_PARTS:
                continue
            has_grown = grown is not None and grown >= threshold("diagnosis.part_grown")
            if share < threshold("diagnosis.grown_share" if has_grown else least):
                continue
            text = f"{definition.title} {shown(share, 'ratio')} of session time"
            if grown is not None:
                usual = grown < threshold("diagnosis.grown")
                told = "as usual" if usual else f"{shown(grown, 'ratio')} of it above the usual"
                yield name, f"{text} ({told})", has_grown
                continue
            # Of too few waits there is no mean.
            wait = self.measures[definition.wait].value if definition.wait else None
            seconds = wait or self.account.per_transaction(name)
            told = "an unknown time" if seconds is None else shown(seconds, "seconds")
            is_long = seconds is None or seconds > threshold(definition.short)
            yield name, f"{text} ({told} {'a wait' if wait else 'a transaction'})", is_long

    def _of_part(self, definition: FindingDefinition, share: float | None) -> float | None:
        """How much of a share of its part it explains."""
        if share is None or definition.times is None:
            return share
        times = self.measures[definition.times].value
        return None if times is None else share * min(1.0, times)

    @staticmethod
    def _rank(definition: FindingDefinition, share: float | None, usual: float | None) -> float:
        """Its share of the account; of what is usual, a part of it only. What stops work comes first."""
        if definition.risk or definition.perhaps:
            return RISK
        known = share or 0.0
        if usual is not None:
            known = max(known - usual, threshold("diagnosis.usual_counts") * known)
        return known + (definition.stops or RISK)

    def _confidence(self, definition: FindingDefinition) -> Confidence:
        if definition.part is None or definition.stops:
            return "high"
        if self.account.agrees is False:
            return "low"
        # What a spin costs is assumed.
        return (
            "medium" if definition.part == "spinning" or definition.times or self.account.unknown else "high"
        )

    def _reached(self, definition: FindingDefinition) -> Measure | None:
        """A measure that reaches a limit of a finding, that of the hottest spinlock if it can be; None if none does."""
        limits = [limit for each in definition.when for limit in each.items() if limit[0] in self.measures]
        held = [self.measures[name] for name, bounds in limits if self._within(definition, name, bounds)]
        hottest = self.measures["hottest_spinlock"].subject
        return next((each for each in held if each.subject == hottest), held[0] if held else None)

    def _subject(self, definition: FindingDefinition) -> Subject | None:
        if definition.about == "blocker":
            return Subject("spid", self.blocker) if self.blocker else None
        of_limit = definition.about == REACHED
        measure = self._reached(definition) if of_limit else self.measures.get(definition.about)
        if measure is None or not measure.subject or not measure.value:
            return None
        return Subject(catalogue().measures[measure.name].about, measure.subject)


def _decided(by: bool, held: Collection[bool | None]) -> bool | None:
    """Three-valued logic: `or`, which one True decides, and `and`, which one False decides."""
    return by if by in held else None if None in held else not by
