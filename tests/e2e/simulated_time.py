"""A scenario scraped every 15 simulated seconds, and the shipped rules evaluated over it by promtool.

No clock is waited for. The simulated server's time is moved by hand between scrapes, and the exporter's with it;
each scrape is a real one, over the wire. promtool then evaluates the rules as Prometheus does, with the same
intervals and durations as in production, and between two scrapes as in production: at the very second of a scrape
a minute would hold five of them, an interval more of the past than a running Prometheus sees.
"""

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from tests.e2e.told import Told, seconds_of, told
from tests.simulator.tds.running import running

from ase_exporter import connection, reading, refusal, scrape, session, watchdog
from ase_exporter import run as one_scrape
from ase_exporter.catalogue import load_catalogue
from ase_exporter.changes import detect, journal
from ase_exporter.changes.config import ChangesConfig
from ase_exporter.changes.detect import Watch
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.metrics import target_families
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.families import Family
from ase_exporter.run import Run
from ase_exporter.scrape import TargetScraper
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation

RULES = sorted((Path(__file__).parents[2] / "alerts" / "rules").glob("*.yaml"))
INTERVAL = 15
# Seconds: promtool counts in such steps, and rules are evaluated a step or two after a scrape.
STEP = 5
HOST = "127.0.0.1"
FIRING = 'ALERTS{alertstate="firing"}'
# How promtool says that something fires where nothing was expected.
WRONG = re.compile(r"time: (\S+),\s+exp: nil\s+got: (.*)")
SAMPLE = re.compile(r"\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\}")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# Seconds: a deadline that never comes.
LONG = 3600.0

Deed = Callable[[SimulatedServer], object]
NO_DEEDS: Mapping[int, Deed] = {}
Key = tuple[str, tuple[str, ...], tuple[str, ...]]


@cache
def metrics_in_rules() -> frozenset[str]:
    """Names of all scraped metrics that a rule reads."""
    text = "".join(path.read_text() for path in RULES)
    return frozenset(re.findall(r"\b(?:ase|dbhost)_[a-z0-9_]+", text))


def groups_in_order() -> list[str]:
    """Names of the rule groups, recorded series before alerts: left alone, promtool takes any order, each time."""
    paths = sorted(RULES, key=lambda path: (path.name.endswith(".alerts.yaml"), path.name))
    return [group["name"] for path in paths for group in yaml.safe_load(path.read_text())["groups"]]


@dataclass
class Recording:
    """Samples of every series, one for each scrape; None where the series was absent.

    start: Unix time. lag: seconds from each scrape to the end of its interval, when rules are evaluated.
    """

    start: float
    lag: int = STEP
    scrapes: int = 0
    series: dict[Key, list[float | None]] = field(default_factory=dict)

    def add(self, families: list[Family]) -> None:
        """The samples of one scrape."""
        for family in families:
            if family.name in metrics_in_rules():
                # promtool's time begins at 0.
                shift = self.start if family.name.endswith("_timestamp_seconds") else 0.0
                for labels, value in family.samples:
                    key = (family.name, family.labels, tuple(labels))
                    values = self.series.setdefault(key, [])
                    values += [None] * (self.scrapes - len(values))
                    values.append(value - shift)
        self.scrapes += 1

    def input_series(self, instance: str) -> Iterator[dict[str, str]]:
        """The recording in promtool's notation."""
        for (name, labels, values), samples in self.series.items():
            pairs = [("job", "ase"), ("instance", instance), *zip(labels, values, strict=True)]
            selector = ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs)
            yield {"series": f"{name}{{{selector}}}", "values": self._notation(samples)}

    def _notation(self, samples: list[float | None]) -> str:
        """Samples in promtool's steps, with the steps of each interval in which there is none."""
        after = self.lag // STEP - 1
        before = INTERVAL // STEP - 1 - after
        parts: list[str] = []
        last: float | None = None
        for sample in samples + [None] * (self.scrapes - len(samples)):
            value = repr(sample) if sample is not None else "_" if last is None else "stale"
            parts += [*["_"] * before, value, *["_"] * after]
            last = sample
        return " ".join(parts)


def record(
    scenario: str,
    seconds: float,
    patch: pytest.MonkeyPatch,
    *,
    patience: float | None = None,
    deeds: Mapping[int, Deed] = NO_DEEDS,
    lag: int = STEP,
) -> Recording:
    """Live through that much of a scenario.

    patience: wall seconds after which a scrape gives up, where faults make it wait; None: it takes no time at all,
    however long it takes, so that nothing depends on the machine's load.
    deeds: what is done to the server at that second. lag: as in the recording.
    """
    (server,) = load_scenario(scenario, speed=0)
    recording = Recording(server.now().replace(tzinfo=None).timestamp(), lag)
    ahead, began = 0.0, time.monotonic()

    def monotonic() -> float:
        return ahead + (time.monotonic() - began if patience else 0.0)

    # Collectors' intervals, pauses and changes count in simulated seconds. All who deal in deadlines must read the
    # same clock: else a hung request is given up as much later as the simulated time is ahead.
    clock = SimpleNamespace(monotonic=monotonic, time=lambda: recording.start + ahead)
    for module in (scrape, one_scrape, reading, session, connection, watchdog, detect, journal):
        patch.setattr(module, "time", clock)
    # The pause after a refused login, which is random otherwise, ends between two scrapes.
    patch.setattr(refusal, "random", SimpleNamespace(uniform=lambda *_: 1.6))
    changes = Journal(ChangesConfig(), None)

    def live_on(passed: int) -> None:
        server.world.clock.advance(passed)
        # Whoever asks the server brings it up to date: steps begin and connections drop before the scrape.
        server.options()

    with running(lambda: simulation(server, None, HOST, 0)) as run:
        scraper = TargetScraper(
            Target(name=scenario, host=HOST, port=run.port),
            Auth(user="ase_exporter", password="exporter"),
            Module(),
            Scrape(connect_timeout=patience or 60.0),
            load_catalogue()[0],
            Watch(ChangesConfig().interval, monotonic),
        )
        for number in range(int(seconds / INTERVAL)):
            # From the evaluation of the interval before to this one's scrape, and from there to its evaluation.
            if deed := deeds.get(number * INTERVAL):
                run.ask(partial(deed, server))
            run.ask(partial(live_on, INTERVAL - lag))
            ahead += INTERVAL - lag
            began = time.monotonic()
            result = Run(ahead + (patience or LONG), started=ahead)
            scraper.scrape(result)
            if result.look:
                changes.on_look(scenario, result.look)
                changes._take_pending()
            recording.add([*result.all_families(stuck=False), *target_families(changes, scenario)])
            run.ask(partial(live_on, lag))
            ahead += lag
        scraper.close()
    return recording


def timeline(recording: Recording, directory: Path) -> list[Told]:
    """What Prometheus' own rule engine fires over the recording, in the order of time."""
    checks: list[dict[str, object]] = [
        {"expr": FIRING, "eval_time": f"{(number + 1) * INTERVAL}s", "exp_samples": []}
        for number in range(recording.scrapes)
    ]
    seen = [
        (dict(LABEL.findall(text)), seconds_of(at))
        for at, samples in WRONG.findall(_promtool(recording, directory, checks))
        for text in SAMPLE.findall(samples)
    ]
    return told(seen, INTERVAL, recording.scrapes * INTERVAL)


def _promtool(recording: Recording, directory: Path, checks: list[dict[str, object]]) -> str:
    """What promtool says that is not as the checks expect it."""
    test = {
        "rule_files": [str(path) for path in RULES],
        "evaluation_interval": f"{INTERVAL}s",
        "group_eval_order": groups_in_order(),
        "tests": [
            {
                "interval": f"{STEP}s",
                "input_series": list(recording.input_series("server")),
                "promql_expr_test": checks,
            }
        ],
    }
    path = directory / "recording.test.yaml"
    path.write_text(yaml.dump(test, Dumper=yaml.CSafeDumper, width=10**9))
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0 or "FAILED:" in said, said
    return said if done.returncode else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
