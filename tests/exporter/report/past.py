"""A Prometheus that holds what a server exported, and what the shipped rules made of it: recorded series and alerts.

The rules are evaluated by promtool, by Prometheus's own engine.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.e2e.evaluation import EvaluatedSample, evaluate
from tests.e2e.simulated_time import Recording, escaped

from ase_exporter.rules.intervals import rule_files

# What a report reads of the recorded series.
RECORDED = (
    '{__name__=~"ALERTS|ase:(cpu_busy:ratio_rate1m|cpu_spinning:ratio_rate1m|cpu_units:rate1m|transactions:rate1m'
    '|free:ratio|full:seconds_forecast|spinlock_(grabs|spins|waits):rate1m)"}'
)
# Files of rules on what the stories have.
RULES = frozenset({"changes", "cpu", "diagnosis", "forecast", "space", "spinlocks"})
Evaluations = Mapping[int, Iterable[EvaluatedSample]]


def evaluations(recording: Recording, folder: Path) -> Evaluations:
    """What the rules recorded, and the alerts, by second of the recording. folder: for files."""
    rules = []
    for name, text in rule_files(recording.interval).items():
        if name.partition(".")[0] in RULES:
            (folder / name).write_text(text, encoding="utf-8")
            rules.append(folder / name)
    every = recording.interval
    queries = [(RECORDED, (number + 1) * every) for number in range(recording.scrapes)]
    return {at: found for (_, at), found in evaluate(recording, folder, queries, rules, every).items()}


def all_samples(recording: Recording, found: Evaluations, instance: str, start: float) -> list[str]:
    """The samples that were scraped and those that were recorded, for `store`."""
    lines = [*recording.lines(instance, start)]
    for at, samples in found.items():
        for sample in samples:
            # Values are as promtool prints them, which is as OpenMetrics wants them.
            labels = dict(sample.labels) | {"instance": escaped(instance)}
            name = labels.pop("__name__")
            pairs = ",".join(f'{key}="{text}"' for key, text in labels.items())
            lines.append(f"{name}{{{pairs}}} {sample.value!r} {start + at}")
    return lines


def firing_times(found: Evaluations, start: float) -> Mapping[tuple[str, str], Sequence[float]]:
    """When each alert of each severity fired, whatever its subject, in order."""
    times: defaultdict[tuple[str, str], set[float]] = defaultdict(set)
    for at, samples in found.items():
        for sample in samples:
            if sample.labels.get("alertstate") == "firing":
                times[sample.labels["alertname"], sample.labels["severity"]].add(start + at)
    return {key: sorted(each) for key, each in times.items()}


def without(recording: Recording, since: float, until: float) -> None:
    """Take the scrapes from a recording that lie between two of its seconds: the exporter was away."""
    for samples in recording.series.values():
        for number in range(len(samples)):
            if since <= (number + 1) * recording.interval - recording.lag <= until:
                samples[number] = None
