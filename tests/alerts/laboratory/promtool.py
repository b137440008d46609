"""Evaluates the rules step by step over time lines, by promtool: which alerts fire, and when.

Several time lines of a family run in one test, as jobs of one Prometheus. promtool refuses queries of over 10,000
samples, which limits their number. A rule that fails with an error fails all.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.alerts.laboratory.lines import INTERVALS, SLOWER, TimeLine, input_series
from tests.e2e.evaluation import evaluate_series
from tests.e2e.expected_timeline import periods
from tests.paths import REPOSITORY

from ase_exporter.rules.intervals import adapted

SHIPPED = REPOSITORY / "alerts" / "rules"
# Days are long, and have no series of these.
LEFT_OUT_OF_DAYS = {"caches", "changes", "devices", "host", "spinlocks"}
ASKED_EVERY = {"hours": 30, "days": 60, "minute": 60, "five minutes": 60}
# How many time lines run together at most, and how many seconds of them; longer ones run alone. Few large batches cost
# less than many small ones.
MOST, TOGETHER = 32, 24 * 3600
QUERY = 'ALERTS{alertstate="firing",severity=~"warning|critical"}'

# Alert, or "NAME critical" -> [(start, end) of each time it fired], in seconds.
Firings = dict[str, list[tuple[float, float]]]


def fired(lines: Iterable[TimeLine], rules: Path = SHIPPED) -> dict[str, Firings]:
    """What fired in each time line, by title. rules: the folder."""
    return {title: firings for some in _batches(lines) for title, firings in _evaluated(some, rules)}


def _batches(lines: Iterable[TimeLine]) -> Iterator[Sequence[TimeLine]]:
    """The time lines, those of a family in batches that can run together."""
    for family in INTERVALS:
        batch: list[TimeLine] = []
        for line in sorted((each for each in lines if each.family == family), key=lambda line: line.lasts):
            if batch and (len(batch) == MOST or line.lasts * (len(batch) + 1) > TOGETHER):
                yield batch
                batch = []
            batch.append(line)
        if batch:
            yield batch


def _evaluated(lines: Sequence[TimeLine], rules: Path) -> Iterator[tuple[str, Firings]]:
    family = lines[0].family
    interval, step = INTERVALS[family], ASKED_EVERY[family]
    series = [each for number, line in enumerate(lines) for each in input_series(line, f"t{number:03}")]
    end = int(max(line.lasts for line in lines))
    queries = [(QUERY, at) for at in range(step, end + 1, step)]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        files = list(_rule_files(rules, family, directory))
        results = evaluate_series(series, interval, directory, queries, files, min(interval, 60))
    moments: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for (_, at), samples in results.items():
        for labels in (sample.labels for sample in samples):
            found = moments[labels["job"]]
            found[labels["alertname"]].add(at)
            if labels["severity"] == "critical":
                found[f"{labels['alertname']} critical"].add(at)
    for number, line in enumerate(lines):
        within = {
            alert: sorted(at for at in times if at <= line.lasts)
            for alert, times in moments[f"t{number:03}"].items()
        }
        yield (
            line.title,
            {
                alert: [(float(each[0]), float(each[-1])) for each in periods(times, step)]
                for alert, times in within.items()
                if times
            },
        )


def _rule_files(rules: Path, family: str, directory: Path) -> Iterator[Path]:
    """Write the rules for a family into a directory."""
    left_out = LEFT_OUT_OF_DAYS if family == "days" else set()
    for path in sorted(rules.glob("*.yaml")):
        if path.name.partition(".")[0] not in left_out:
            text = path.read_text()
            written = directory / path.name
            written.write_text(adapted(text, INTERVALS[family]) if family in SLOWER else text)
            yield written
