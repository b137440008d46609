"""The diagnosis as recording rules, so that dashboards and alerts show what `diagnose` says.

Every rule follows from findings.yaml: alerts/definitions/diagnosis.yaml is made here, in which thresholds are
parameters. Where Python says that something is not known, the series is absent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ase_exporter.catalogue import Catalogue
from ase_exporter.catalogue.wait_parts import OTHER, wait_parts
from ase_exporter.diagnosis.account import CPU_PARTS, RUN_QUEUE
from ase_exporter.diagnosis.catalogue import (
    SESSIONS,
    SHARE,
    Bounds,
    DiagnosisCatalogue,
    FindingDefinition,
    Limit,
    MeasureDefinition,
    PartDefinition,
    Selection,
    catalogue,
)
from ase_exporter.diagnosis.diagnose import IDLE, NOT_KNOWN, ORDER, RISK, STATE_RANKS, WORKS
from ase_exporter.rules.parameters import thresholds

MEASURE = "ase:diagnosis_measure:value"
USUAL_MEASURE = "ase:diagnosis_measure:median1d"
ACCOUNT = "ase:diagnosis_account:seconds_rate1m"
SHARES = "ase:diagnosis_account:ratio_rate1m"
# What each part causes: of the run queue, work and spinning each their share.
CAUSED = "ase:diagnosis_account:caused_ratio_rate1m"
USUAL_SHARES = "ase:diagnosis_account:median1d"
CLEAR = "ase:diagnosis_clear:known"
RANK = "ase:diagnosis_finding:rank"
FIRST = "ase:diagnosis_first:rank"
# 0 good, 1 warn or not known, 2 bad.
LEVEL = "ase:diagnosis_first:level"
WAITS = "ase_wait_seconds_total"

Rule = dict[str, Any]
# Metric -> its own labels, those of the target aside; and the collector that reads it.
LabelsOf = Callable[[str], Iterable[str]]
CollectorOf = Callable[[str], str]


def diagnosis_definition(labels_of: LabelsOf, collector_of: CollectorOf) -> dict[str, Any]:
    """The content of alerts/definitions/diagnosis.yaml."""
    writer = _Writer(catalogue(), labels_of, collector_of)
    return {
        "groups": [
            {"name": "ase_diagnosis_baseline", "interval": "2m", "rules": list(writer.baselines())},
            {
                "name": "ase_diagnosis",
                "rules": [
                    *writer.measures(),
                    *writer.account(),
                    *writer.findings(),
                    *writer.states(),
                ],
            },
        ]
    }


class _Writer:
    def __init__(self, known: DiagnosisCatalogue, labels_of: LabelsOf, collector_of: CollectorOf) -> None:
        self._known = known
        self._labels_of = labels_of
        self._collector_of = collector_of

    def baselines(self) -> Iterator[Rule]:
        """What is usual: medians of a day, but for the last quarter of an hour."""
        grown = "|".join(each.grown for each in self._known.measures.values() if each.grown)
        for name, series in (
            (USUAL_MEASURE, f'{MEASURE}{{measure=~"{grown}"}}'),
            (USUAL_SHARES, CAUSED),
        ):
            yield {"record": name, "expr": f"quantile_over_time(0.5, {series}[1d:5m] offset 15m)"}

    def measures(self) -> Iterator[Rule]:
        """One series for each measure that is known."""
        for name, measure in self._known.measures.items():
            expr = self._grown(measure.grown) if measure.grown else self._measure(measure)
            yield {"record": MEASURE, "expr": expr, "labels": {"measure": name}}

    def account(self) -> Iterator[Rule]:
        """Seconds per second, and shares, by part."""
        for name, part in self._known.account.items():
            yield {"record": ACCOUNT, "expr": self._part(name, part), "labels": {"part": name}}
        total = f"(sum without (part) ({ACCOUNT}) > 0)"
        yield {
            "record": SHARES,
            "expr": f"{ACCOUNT} / ignoring (part) group_left () {total}\nor 0 * {ACCOUNT}",
        }
        cpu = "|".join(CPU_PARTS)
        used = f'(sum without (part) ({SHARES}{{part=~"{cpu}"}}) > 0)'
        own = f'{SHARES}{{part=~"{cpu}"}} / ignoring (part) group_left () {used}'
        queue = f'ignoring (part) group_left () sum without (part) ({SHARES}{{part="{RUN_QUEUE}"}})'
        yield {
            "record": CAUSED,
            "expr": f'{SHARES}{{part=~"{cpu}"}} + ({own} * {queue})\nor {SHARES}{{part!="{RUN_QUEUE}"}}',
        }
        worked = f'sum without (part) ({SHARES}{{part="work"}}) / {used}'
        queued = f'sum without (part) ({SHARES}{{part="{RUN_QUEUE}"}})'
        expr = f"({worked} * {queued}) or 0 * {queued}"
        yield {"record": CAUSED, "expr": expr, "labels": {"part": RUN_QUEUE}}

    def findings(self) -> Iterator[Rule]:
        """Which vital findings are known not to hold, then the rank of each finding that holds."""
        vital = {name: each for name, each in self._known.findings.items() if each.vital}
        for name, finding in vital.items():
            clear = "\nand ".join(f"({self._none(finding, limits)})" for limits in finding.when)
            yield {"record": CLEAR, "expr": f"0 * ({clear}) + 1", "labels": {"finding": name}}
        for order, (name, finding) in enumerate(self._known.findings.items()):
            holds = "\nor ".join(f"({self._all(finding, limits)})" for limits in finding.when)
            if finding.unless:
                others = f'{RANK}{{finding=~"{"|".join(finding.unless)}"}}'
                holds = f"({holds})\nunless sum without (finding, word) ({others})"
            yield {
                "record": RANK,
                "expr": f"({self._rank(finding, holds)}) + {_text((finding.stops or RISK) - ORDER * order)}",
                "labels": {"finding": name, "word": finding.word},
            }

    def states(self) -> Iterator[Rule]:
        """The rank of states without a finding, then whatever comes first."""
        vital = sum(each.vital for each in self._known.findings.values())
        clear = f"(count without (finding) ({CLEAR}) == {vital})"
        idle = "<<diagnosis.idle>>"
        busy = self._value("busy_share")
        for state, condition in (
            (IDLE, f"{busy} < {idle} and {clear}"),
            (WORKS, f"{busy} >= {idle} and {clear}"),
            (NOT_KNOWN, f"ase_up == 1 unless {clear}"),
        ):
            word = state.replace("_", " ").upper()
            yield {
                "record": RANK,
                "expr": f"0 * ({condition}) - {_text(-STATE_RANKS[state])}",
                "labels": {"finding": state, "word": word},
            }
        yield {"record": FIRST, "expr": f"topk without (finding, word) (1, {RANK})"}
        bad = "<<diagnosis.severe_share>>"
        level = (
            f"({FIRST} >= bool {bad}) + ({FIRST} >= bool 0) + ({FIRST} == bool {STATE_RANKS[NOT_KNOWN]:g})"
        )
        yield {"record": LEVEL, "expr": level}

    def _measure(self, measure: MeasureDefinition) -> str:
        separate = measure.keep != "sum" and not measure.by
        expr = self._grouped(measure, measure.by, measure.keep if separate else "sum")
        if measure.per:
            floor = f">= {_limit(measure.per.at_least)}" if measure.per.at_least else "> 0"
            expr = f"{expr}\n/ ({self._grouped(measure.per, measure.by)} {floor})"
        if measure.beside and measure.beside.at_least:
            beside = self._grouped(measure.beside, measure.by)
            expr = f"({expr})\nand {beside} >= {_limit(measure.beside.at_least)}"
        if measure.times:
            expr = f"{_limit(measure.times)} * ({expr})"
        if measure.at_most:
            whole = self._value(measure.at_most)
            expr = f"(({expr}) <= {whole}) or ({whole} and ({expr}))"
        if measure.one_minus:
            expr = f"1 - ({expr})"
        if measure.by:
            expr = f"{measure.keep} without ({', '.join(measure.by)}) ({expr})"
        return f"({expr})\nor {self._empty(measure)}"

    def _empty(self, measure: MeasureDefinition) -> str:
        """The value where no row is left, although the metrics were read."""
        read = []
        for selection in measure.selections:
            if measure.rare:
                success = f'ase_exporter_collector_success{{collector="{self._collector_of(selection.metric)}"}} == 1'
                read.append(f"sum without (collector) ({success})")
            else:
                read.append(
                    self._grouped(
                        Selection(rate=selection.rate, value=selection.value, lasting=selection.lasting), ()
                    )
                )
        read = list(dict.fromkeys(read))
        value = f"0 * {read[0]}" if not measure.empty else f"0 * {read[0]} + {_text(measure.empty)}"
        return " and ".join([value, *read[1:]])

    def _grouped(self, selection: Selection, by: Sequence[str], how: str = "sum") -> str:
        where = ", ".join(
            f'{label}{"!~" if text.startswith("!") else "=~"}"{text.removeprefix("!")}"'
            for label, text in (selection.where or {}).items()
        )
        series = selection.metric + (f"{{{where}}}" if where else "")
        own = [label for label in (*self._labels_of(selection.metric), "instance_id") if label not in by]
        function = "rate" if selection.rate else "min_over_time" if selection.lasting else ""
        over = f"{function}({series}[1m])" if function else series
        return f"{how} without ({', '.join(own)}) ({over})"

    def _grown(self, base: str) -> str:
        now = f'{MEASURE}{{measure="{base}"}}'
        usual = f'{USUAL_MEASURE}{{measure="{base}"}}'
        return f"clamp_min(1 - ({usual} > 0) / ({now} > 0), 0)\nor ({now} == 0 and {usual})"

    def _part(self, name: str, part: PartDefinition) -> str:
        busy, spinning = self._value("busy"), self._value("spinning")
        if name == "spinning":
            return f"({spinning} <= {busy}) or ({busy} and {spinning}) or {spinning}"
        if name == "work":
            return f"clamp_min({busy} - {spinning}, 0) or {busy}"
        now = self._value(part.now) if part.now else ""
        waited = self._waited(part)
        return f"({waited} >= {now}) or {now} or {waited}" if now else waited

    def _waited(self, part: PartDefinition) -> str:
        waits = wait_parts()
        listed = "|".join(map(str, sorted(waits.events)))
        events, classes = "|".join(map(str, part.events)), "|".join(part.classes)
        chosen = [f'rate({WAITS}{{event_id=~"{events}"}}[1m])'] if events else []
        if part is self._known.account[OTHER]:
            classes = "|".join(name for name, each in waits.classes.items() if each != OTHER)
            chosen.append(f'rate({WAITS}{{class!~"{classes}", event_id!~"{listed}"}}[1m])')
        elif classes:
            chosen.append(f'rate({WAITS}{{class=~"{classes}", event_id!~"{listed}"}}[1m])')
        own = f"without ({', '.join((*self._labels_of(WAITS), 'instance_id'))})"
        return f"(sum {own} ({' or '.join(chosen)}) or 0 * sum {own} (rate({WAITS}[1m])))"

    @staticmethod
    def _value(measure: str) -> str:
        return f'sum without (measure) ({MEASURE}{{measure="{measure}"}})'

    def _compared(self, finding: FindingDefinition, name: str, sign: str, limit: Limit) -> str:
        # Of a part that is known, there is at most that share; in the others there may be more sessions.
        parts = self._known.account
        whole = f' and count without (part) ({ACCOUNT}{{part!="spinning"}}) == {len(parts) - 1}'
        if name == SHARE and finding.part:
            share = f'sum without (part) ({SHARES}{{part="{finding.part}"}} {sign} {_limit(limit)})'
            # What waits now is known without the waits, what has waited is not: there may be more.
            waits = f' and sum without (part) ({ACCOUNT}{{part="log"}})' if parts[finding.part].now else ""
            return f"({share}{whole if sign == '>=' else waits})"
        if name == SESSIONS:
            return f"(sum without (part) ({ACCOUNT}) {sign} {_limit(limit)}{whole if sign == '<' else ''})"
        return f'sum without (measure) ({MEASURE}{{measure="{name}"}} {sign} {_limit(limit)})'

    def _all(self, finding: FindingDefinition, limits: Mapping[str, Bounds]) -> str:
        """Where all limits hold."""
        return "\nand ".join(
            self._compared(finding, name, sign, limit)
            for name, bounds in limits.items()
            for sign, limit in ((">=", bounds.at_least), ("<=", bounds.at_most))
            if limit is not None
        )

    def _none(self, finding: FindingDefinition, limits: Mapping[str, Bounds]) -> str:
        """Where a limit is known not to hold."""
        return "\nor ".join(
            self._compared(finding, name, sign, limit)
            for name, bounds in limits.items()
            for sign, limit in (("<", bounds.at_least), (">", bounds.at_most))
            if limit is not None
        )

    def _rank(self, finding: FindingDefinition, holds: str) -> str:
        if finding.risk or not finding.part:
            return f"0 * ({holds})"
        times = f" * clamp_max({self._value(finding.times)}, 1)" if finding.times else ""
        share, usual = (
            f'sum without (part) ({series}{{part="{finding.part}"}}){times}'
            for series in (CAUSED, USUAL_SHARES)
        )
        counted = f"<<diagnosis.usual_counts>> * {share}"
        known = f"({share} - {usual} >= {counted}) or ({counted} and {usual}) or {share}"
        # It comes after all others where a finding that would say more is not known.
        for other in (each for each in finding.unless if self._known.findings[each].vital):
            known = f'({known})\nand sum without (finding) ({CLEAR}{{finding="{other}"}})'
        return f"(({known})\nand ({holds}))\nor 0 * ({holds})"


def _limit(limit: Limit | None) -> str:
    return f"<<{limit}>>" if limit in thresholds() else str(limit)


def _text(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")


def own_labels(exported: Catalogue) -> tuple[LabelsOf, CollectorOf]:
    """What the metrics' own labels are, and which collector reads them, from the catalogue of metrics."""
    labels: dict[str, list[str]] = {}
    collectors: dict[str, str] = {}
    for reader, collector in exported.collectors.items():
        for name, metric in collector.metrics.items():
            labels[name] = [*collector.labels, *metric.labels, *([metric.by] if metric.by else ())]
            collectors[name] = reader
    return lambda metric: labels.get(metric, ()), collectors.__getitem__
