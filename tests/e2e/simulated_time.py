"""A scenario scraped every 15 simulated seconds, and the shipped rules evaluated over it by promtool.

No clock is waited for. The simulated server's time is moved by hand between scrapes, and the exporter's with it;
each scrape is a real one, over the wire. promtool then evaluates the rules as Prometheus does, at the same
times, with the same intervals and durations as in production.
"""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from tests.simulator.tds.running import running

from ase_exporter import scrape
from ase_exporter.catalogue import load_catalogue
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.families import Family
from ase_exporter.scrape import Run, TargetScraper
from ase_simulator.model import load_scenario
from ase_simulator.simulation import simulation

RULES = sorted((Path(__file__).parents[2] / "alerts" / "rules").glob("*.yaml"))
INTERVAL = 15
HOST = "127.0.0.1"
PATIENCE = 60.0

Key = tuple[str, tuple[str, ...], tuple[str, ...]]


@cache
def metrics_in_rules() -> frozenset[str]:
    """Names of all scraped metrics that a rule reads."""
    text = "".join(path.read_text() for path in RULES)
    return frozenset(re.findall(r"\b(?:ase|dbhost)_[a-z0-9_]+", text))


@dataclass
class Recording:
    """Samples of every series, one for each scrape; None where the series was absent. start: Unix time."""

    start: float
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
            yield {"series": f"{name}{{{selector}}}", "values": _notation(samples, self.scrapes)}


def record(scenario: str, seconds: float, patch: pytest.MonkeyPatch) -> Recording:
    """Live through that much of a scenario."""
    (server,) = load_scenario(scenario, speed=0)
    ahead = 0.0
    # Intervals of collectors count in simulated seconds; deadlines come later than they must, which harms nobody.
    patch.setattr(scrape, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead))
    recording = Recording(server.now().replace(tzinfo=None).timestamp())
    with running(lambda: simulation(server, None, HOST, 0)) as run:
        scraper = TargetScraper(
            Target(name=scenario, host=HOST, port=run.port),
            Auth(user="ase_exporter", password="exporter"),
            Module(),
            Scrape(connect_timeout=60.0),
            load_catalogue()[0],
        )
        for _ in range(int(seconds / INTERVAL)):
            now = scrape.time.monotonic()
            result = Run(now + PATIENCE, started=now)
            scraper.scrape(result)
            recording.add(result.all_families(stuck=False))
            run.ask(lambda: server.world.clock.advance(INTERVAL))
            ahead += INTERVAL
        scraper.close()
    return recording


def firing(recording: Recording, directory: Path) -> str:
    """What promtool says of `nothing fired in all that time`: empty if so, else what did."""
    fired = 'count_over_time(ALERTS{alertstate="firing"}[10y])'
    end = INTERVAL * (recording.scrapes - 1)
    return _promtool(recording, directory, [{"expr": fired, "eval_time": f"{end}s", "exp_samples": []}])


def differing(recording: Recording, directory: Path, expected: Mapping[str, Sequence[str]]) -> str:
    """What promtool says of `these alerts fire at these times, and no others`: empty if so.

    expected: time such as 11m -> alerts as `name severity` or `name severity spinlock`.
    """
    firing_now = 'count by (alertname, severity, spinlock) (ALERTS{alertstate="firing"})'
    checks = []
    for at, alerts in expected.items():
        samples = []
        for alert in alerts:
            name, severity, *spinlock = alert.split(" ", 2)
            labels = f'alertname="{name}",severity="{severity}"'
            labels += f',spinlock="{spinlock[0]}"' if spinlock else ""
            samples.append({"labels": f"{{{labels}}}", "value": 1})
        checks.append({"expr": firing_now, "eval_time": at, "exp_samples": samples})
    return _promtool(recording, directory, checks)


def _promtool(recording: Recording, directory: Path, checks: list[dict[str, object]]) -> str:
    test = {
        "rule_files": [str(path) for path in RULES],
        "evaluation_interval": f"{INTERVAL}s",
        "tests": [
            {
                "interval": f"{INTERVAL}s",
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
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _notation(samples: list[float | None], scrapes: int) -> str:
    samples = samples + [None] * (scrapes - len(samples))
    parts: list[str] = []
    at = 0
    while at < scrapes:
        end = at
        while end + 1 < scrapes and samples[end + 1] == samples[at]:
            end += 1
        parts.append(_run(samples[at], end - at + 1, first=at == 0))
        at = end + 1
    return " ".join(parts)


def _run(value: float | None, count: int, *, first: bool) -> str:
    if value is not None:
        return f"{value!r}x{count - 1}" if count > 1 else repr(value)
    missing = count if first else count - 1
    gap = [f"_x{missing}"] if missing else []
    return " ".join(gap if first else ["stale", *gap])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
