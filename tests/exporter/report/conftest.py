"""A morning of the simulated server in a real Prometheus, under four names.

The same samples stand for all: what differs is the name, for the hostile one also the texts in its labels, and how much
is recorded of the others.
"""

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.simulated_time import escaped
from tests.exporter.compare.conftest import prometheus_with
from tests.exporter.report.past import all_samples, evaluations, firing_times
from tests.exporter.report.week import CACHE, MORNING, SERVER, Story, Truth, play

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.report.period import Range
from ase_exporter.report.server_report import ServerReport, read_report

# Markup, Markdown, a formula, quotes, and what regular expressions and PromQL's strings take for something else.
HOSTILE = """<script>alert('1')</script> **b** [x](http://x.invalid/) $a_1$ `c` | "q" \\d (.*"""
HOSTILE_CACHE = """<img src=http://x.invalid/ onerror=alert(2)> $_{2}$ "cache" \\s [a-z"""
# Scraped, but no rules are loaded.
RAW = "RAW"
# Nothing but CPU and transactions is recorded.
BARE = "BARE"


@dataclass(frozen=True)
class Past:
    """Where Prometheus answers, the story that it holds, and what was true inside the server.

    firing: the times of the rules' evaluations at which an alert of a severity fired, Unix times.
    """

    url: str
    story: Story
    truth: Truth
    firing: Mapping[tuple[str, str], Sequence[float]]

    @property
    def range(self) -> list[str]:
        """The options for the whole story."""
        return ["--since", str(self.story.start), "--until", str(self.story.end)]

    def report(self, name: str = SERVER, *, before: float = 0.0) -> ServerReport:
        """The report on the whole story of a server, and on so many seconds before it."""
        period = Range(str(self.story.start - before), str(self.story.end))
        with Prometheus(self.url) as server:
            return read_report(server, name, period, time.time())


@contextmanager
def told(story: Story, folder: Path, *, beside: bool = False) -> Iterator[Past]:
    """A Prometheus that holds a story. folder: for its files. beside: also the servers of other names."""
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        pytest.skip("prometheus is not installed")
    week = play(story)
    found = evaluations(week.recording, folder)
    lines = all_samples(week.recording, found, SERVER, story.start)
    if beside:
        lines += bare(lines)
        lines += week.recording.lines(RAW, story.start)
        hostile = all_samples(week.recording, found, HOSTILE, story.start)
        lines += [line.replace(CACHE, escaped(HOSTILE_CACHE)) for line in hostile]
    with prometheus_with(lines, folder) as url:
        yield Past(url, story, week.truth, firing_times(found, story.start))


@pytest.fixture(scope="session")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """Four hours with a change that helps, and a quarter of an hour without scrapes."""
    with told(MORNING, tmp_path_factory.mktemp("morning"), beside=True) as past:
        yield past


def bare(lines: list[str]) -> list[str]:
    """A server's samples as those of BARE, of which little is recorded, and which its exporter cannot judge."""
    absent = re.compile(
        r"(ase:spinlock|ase_spinlock|ase:cpu_spinning|ase:f|ALERTS|ase_change|ase_info|ase_con|ase_diagnosis)"
    )
    kept = [line for line in lines if not absent.match(line)]
    for at in [line.split()[-1] for line in lines if line.startswith("ase_up{")]:
        labels = f'job="ase",instance="{SERVER}",finding="not_known",word="NOT KNOWN"'
        kept += [
            f"ase_diagnosis_rank{{{labels}}} -1 {at}",
            f'ase_diagnosis_first_info{{{labels},kind="",subject=""}} 1 {at}',
        ]
    return [line.replace(f'instance="{SERVER}"', f'instance="{BARE}"') for line in kept]
