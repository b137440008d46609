"""Records a scenario that is scraped every 15 simulated seconds.

The test moves the simulated server's time between scrapes, and the exporter's with it, so the samples do not depend
on the machine's load; each scrape is a real one, over the wire. The rules are evaluated between two scrapes, as in
production: at the very second of a scrape, a range of a minute would hold five of them instead of four.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from tests.dashboards import machine
from tests.paths import REPOSITORY
from tests.simulator.tds.running import running

from ase_exporter.ase.connection import Connection
from ase_exporter.ase.timing import TIMING
from ase_exporter.ase.watchdog import Watchdog
from ase_exporter.catalogue import load_catalogue
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.metrics import target_families
from ase_exporter.clock import Clock
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.config.changes import ChangesConfig
from ase_exporter.config.host import HostConfig
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.metrics.families import Family
from ase_exporter.readings.watch import TargetWatch
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation

EXPORTER = REPOSITORY / "exporter" / "ase_exporter"
RULES = sorted((REPOSITORY / "alerts" / "rules").glob("*.yaml"))
INTERVAL = 15
# Seconds from a scrape to the next evaluation of rules.
STEP = 5
HOST = "127.0.0.1"
# Seconds: a deadline that is never reached.
LONG = 3600.0
MONITORING = Auth(user="ase_exporter", password="exporter")

# Their start is subtracted for promtool, whose time begins at 0.
CHANGE_TIMES = frozenset({"ase_change_timestamp_seconds", "ase_change_not_before_timestamp_seconds"})

Deed = Callable[[SimulatedServer], object]
NO_DEEDS: Mapping[int, Deed] = {}
Key = tuple[str, tuple[str, ...], tuple[str, ...]]


@cache
def metrics_in_rules() -> frozenset[str]:
    """Names of all scraped metrics that a rule, `compare` or `report` uses."""
    readers = [
        EXPORTER / "compare" / "measures.yaml",
        EXPORTER / "diagnosis" / "findings.yaml",
        EXPORTER / "report" / "tables.yaml",
        *(EXPORTER / "report").glob("*.py"),
    ]
    text = "".join(path.read_text() for path in [*RULES, *readers])
    return frozenset(re.findall(r"\b(?:ase|dbhost)_[a-z0-9_]+", text)) | CHANGE_TIMES | {"up"}


def read_for_rules(*more: str) -> Module:
    """A module without the collectors that no rule reads. more: those to switch on besides."""
    collectors, kept = load_catalogue()[0].collectors, metrics_in_rules()
    unread = {name: False for name, each in collectors.items() if not kept & each.metrics.keys()}
    return Module(collectors=unread | dict.fromkeys(more, True))


# How Prometheus scrapes the exporter: at each interval, every fourth, in vain, or not as a target any more.
Scraping = Literal["always", "seldom", "in vain", "removed"]
ALWAYS: Mapping[int, Scraping] = {0: "always"}


@dataclass
class Recording:
    """Samples of every series, one for each scrape; None where the series was absent.

    start: Unix time. lag: seconds from each scrape to the end of its interval, when rules are evaluated.
    interval: seconds between scrapes. metrics: the names that are kept. skipped: numbers of the scrapes that were not
    made, so that the series have neither a sample nor an end.
    """

    start: float
    lag: int = STEP
    interval: int = INTERVAL
    metrics: frozenset[str] = field(default_factory=metrics_in_rules)
    scrapes: int = 0
    skipped: set[int] = field(default_factory=set)
    series: dict[Key, list[float | None]] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """Seconds: the resolution of promtool's input; rules are evaluated a step or more after a scrape."""
        return math.gcd(self.interval, self.lag)

    def take(self, scraping: Mapping[int, Scraping], scrape: Callable[[], Iterable[Family]]) -> None:
        """What Prometheus stores of one interval. scraping: from which second of the recording on it scrapes how."""
        how = scraping[max(second for second in scraping if second <= self.scrapes * self.interval)]
        if how == "seldom" and self.scrapes % 4:
            self.skipped.add(self.scrapes)
            self.scrapes += 1
            return
        found = list(scrape()) if how in ("always", "seldom") else []
        if how != "removed":
            up = Family("up", "gauge", "", ())
            up.add(0.0 if how == "in vain" else 1.0)
            scraped = Family("scrape_samples_scraped", "gauge", "", ())
            scraped.add(float(sum(len(family.samples) for family in found)))
            found += [up, scraped]
        self.add(found)

    def add(self, families: list[Family]) -> None:
        """The samples of one scrape."""
        for family in families:
            if family.name in self.metrics:
                # promtool's time begins at 0.
                shift = self.start if family.name.endswith("_timestamp_seconds") else 0.0
                for labels, value in family.samples:
                    key = (family.name, family.labels, tuple(labels))
                    values = self.series.setdefault(key, [])
                    values += [None] * (self.scrapes - len(values))
                    values.append(value - shift)
        self.scrapes += 1

    def input_series(self, instance: str, job: str = "ase") -> Iterator[dict[str, str]]:
        """The recording in promtool's notation, and a second target of Prometheus that is up."""
        for key, samples in self.series.items():
            yield {"series": _selector(instance, key, job), "values": self._notation(samples)}
        steps = self.scrapes * self.interval // self.step
        yield {"series": 'up{job="prometheus",instance="prometheus"}', "values": f"1x{steps}"}

    def lines(self, instance: str, start: float) -> Iterator[str]:
        """All samples, NAME{LABELS} VALUE TIME each. start: Unix time of the first second of the recording."""
        for key, samples in self.series.items():
            shift = start if key[0].endswith("_timestamp_seconds") else 0.0
            selector = _selector(instance, key)
            for number, value in enumerate(samples):
                if value is not None:
                    at = start + (number + 1) * self.interval - self.lag
                    yield f"{selector} {value + shift!r} {at}"

    def _notation(self, samples: list[float | None]) -> str:
        """Samples in promtool's steps, with the steps of each interval in which there is none."""
        after = self.lag // self.step - 1
        before = self.interval // self.step - 1 - after
        parts: list[str] = []
        last: float | None = None
        for number, sample in enumerate(samples + [None] * (self.scrapes - len(samples))):
            if number in self.skipped:
                parts += ["_"] * (before + 1 + after)
                continue
            value = repr(sample) if sample is not None else "_" if last is None else "stale"
            parts += [*["_"] * before, value, *["_"] * after]
            last = sample
        return " ".join(parts)


def record(
    scenario: str,
    seconds: float,
    *,
    scrape_timeout: float | None = None,
    deeds: Mapping[int, Deed] = NO_DEEDS,
    lag: int = STEP,
    collectors: frozenset[str] | None = None,
    interval: int = INTERVAL,
    snapshots: float = ChangesConfig().interval,
    module: Module | None = None,
    version: str | None = None,
    encrypt_password: bool = False,
    metrics: frozenset[str] | None = None,
    scraping: Mapping[int, Scraping] = ALWAYS,
    auth: Auth = MONITORING,
    beside: Callable[[float], Iterable[Family]] = lambda now: (),
) -> Recording:
    """Scrape that many seconds of a scenario.

    scrape_timeout: real seconds after which a scrape gives up, for scenarios whose faults make it wait; None: the
    clock stands still during a scrape, however long it takes, so that nothing depends on the machine's load.
    deeds: what is done to the server at that second. lag: as in the recording.
    collectors: the ones to read, as with `collect[]` in a scrape's URL, without changes; None: all of the module.
    interval: between scrapes; snapshots: between snapshots of the configuration. version: of the server.
    metrics: the names to keep; None: those of rules and `compare`. scraping: from which second on Prometheus scrapes
    how. auth: the login that scrapes. beside: what is exposed at that Unix time beside what the scrape reads.
    """
    (server,) = load_scenario(scenario, speed=0, version=version)
    recording = Recording(server.now().replace(tzinfo=None).timestamp(), lag, interval)
    recording.metrics = metrics or recording.metrics
    second, ahead, began = 0, 0.0, time.monotonic()

    def monotonic() -> float:
        return ahead + (time.monotonic() - began if scrape_timeout else 0.0)

    clock = Clock(monotonic, lambda: recording.start + ahead)
    changes = Journal(ChangesConfig(), None, clock=clock)
    watch = TargetWatch(server.name, None, clock)

    def live_on(passed: int) -> None:
        nonlocal second
        end = second + passed
        while second < end:
            if deed := deeds.get(second):
                deed(server)
            next_stop = min([at for at in deeds if second < at < end], default=end)
            server.world.clock.advance(next_stop - second)
            second = next_stop
            # Whoever asks the server brings it up to date: steps begin and connections drop before the scrape.
            server.options()

    def scraped() -> list[Family]:
        result = ScrapeResult(ahead + (scrape_timeout or LONG), ScrapeRequest(collectors), clock=clock)
        scraper.scrape(result)
        watch.judge(result)
        if result.config_snapshot:
            changes.on_snapshot(scenario, result.config_snapshot)
            changes._take_pending()
        return [*result.all_families(stuck=False), *target_families(changes, scenario), *beside(clock.time())]

    with (
        # The pause after a refused login, which is random otherwise, ends between two scrapes.
        patch.object(TIMING, "login_pause", 48.0),
        running(lambda: simulation(server, None, HOST, 0)) as run,
    ):
        scraper = TargetScraper(
            TargetSettings(
                Target(name=server.name, host=HOST, port=run.port, encrypt_password=encrypt_password),
                auth,
                module or Module(),
                Scrape(connect_timeout=scrape_timeout or 60.0),
                snapshots,
            ),
            load_catalogue()[0],
            clock=clock,
            open_connection=partial(Connection.open, watchdog=Watchdog(clock)),
        )
        for _ in range(int(seconds / interval)):
            # From the evaluation of the interval before to this one's scrape, and from there to its evaluation.
            run.ask(partial(live_on, interval - lag))
            ahead += interval - lag
            began = time.monotonic()
            recording.take(scraping, scraped)
            run.ask(partial(live_on, lag))
            ahead += lag
        scraper.close()
    return recording


def record_machine(directory: Path, seconds: float, scraping: Mapping[int, Scraping] = ALWAYS) -> Recording:
    """Scrape a handwritten machine without huge pages for that many seconds. directory: for its /proc and /sys."""
    machine.before(directory)
    collectors = HostCollectors(HostConfig(procfs=directory / "proc", sysfs=directory / "sys"))
    recording = Recording(0.0)
    for _ in range(int(seconds / INTERVAL)):
        recording.take(scraping, collectors.collect)
    collectors.close()
    return recording


def _selector(instance: str, key: Key, job: str = "ase") -> str:
    name, labels, values = key
    pairs = [("job", job), ("instance", instance), *zip(labels, values, strict=True)]
    return name + "{" + ",".join(f'{label}="{escaped(value)}"' for label, value in pairs) + "}"


def escaped(value: str) -> str:
    """A label's value in OpenMetrics and PromQL."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
