"""The catalogue of findings.yaml, and the thresholds of alerts/parameters.yaml that it names."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from ase_exporter.catalogue.wait_parts import IDLE, wait_parts
from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict
from ase_exporter.rules.parameters import thresholds

_FILE = Path(__file__).with_name("findings.yaml")

Unit = Literal["ratio", "seconds", "per_second", "per_minute", "count", "engines", "plain"]
Keep = Literal["sum", "max", "min"]
# A number, or the name of a parameter of alerts/parameters.yaml.
Limit = str
# No event has this number: its class alone counts.
UNKNOWN_EVENT = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection(Strict):
    """Samples of one metric: growth per second of a counter (rate), or a gauge (value)."""

    rate: str | None = None
    value: str | None = None
    lasting: bool = False
    where: Mapping[str, str] | None = None
    of_account: bool = False
    instead: "Selection | None" = None
    at_least: Limit | None = None

    @property
    def metric(self) -> str:
        return self.rate or self.value or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureDefinition(Selection):
    """How a measure is calculated; the comments in findings.yaml describe the fields."""

    title: str
    unit: Unit
    per: Selection | None = None
    beside: Selection | None = None
    by: Sequence[str] = ()
    keep: Keep = "sum"
    about: str = ""
    times: Limit | None = None
    one_minus: bool = False
    at_most: str | None = None
    empty: float = 0.0
    rare: bool = False
    events: float = 0.0
    step: float = 0.0
    ago: bool = False
    grown: str | None = None
    fallen: str | None = None
    risen: str | None = None
    unusual: float | None = None

    @property
    def compared(self) -> str | None:
        """The measure of which it says how far it is from its usual value; None for the others."""
        return self.grown or self.fallen or self.risen

    @property
    def needed(self) -> Sequence[Selection]:
        """What it is calculated from: the numerator first."""
        return [each for each in (self, self.per, self.beside) if each and each.metric]

    @property
    def selections(self) -> Iterator[Selection]:
        """All that it may be calculated from."""
        for each in self.needed:
            yield from filter(None, (each, each.instead))


@dataclass(frozen=True, kw_only=True, slots=True)
class PartDefinition(Strict):
    """A part of the time account. classes, events: from wait_parts.csv, and in no other file."""

    title: str
    measure: str | None = None
    classes: Sequence[str] = ()
    events: Sequence[int] = ()
    now: str | None = None
    wait: str | None = None
    short: Limit = "diagnosis.short_seconds"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds(Strict):
    """Limits of one measure. surely: the least that it must be by the lower end of its interval."""

    at_least: Limit | None = None
    at_most: Limit | None = None
    surely: Limit | None = None

    def hold(self, value: float | None, spread: float = 0.0) -> bool | None:
        """Whether a value that is open by `spread` to either side is within them, None if it is not known.

        Of a value that is open by more than half of itself, nothing follows.
        """
        if value is None:
            return None
        within = (self.at_least is None or value >= threshold(self.at_least)) and (
            self.at_most is None or value <= threshold(self.at_most)
        )
        if not within or self.surely is None or value - spread >= threshold(self.surely):
            return within
        return None if value >= threshold(self.surely) and 2 * spread <= value else False


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingDefinition(Strict):
    """One thing that can be wrong; the comments in findings.yaml describe the fields."""

    word: str
    when: Sequence[Mapping[str, Bounds]]
    says: str
    next: Sequence[str]
    stops: float = 0.0
    risk: bool = False
    perhaps: bool = False
    vital: bool = False
    unless: Sequence[str] = ()
    after: Sequence[str] = ()
    part: str | None = None
    times: str | None = None
    about: str = ""
    expect: str = ""


# Names in `when` that are no measures: the share of the finding's part, the sum of the account, and how much of the
# part's time in a transaction is above the usual.
SHARE, SESSIONS, PART_GROWN = "share", "sessions", "part_grown"
# What a finding may be about, and may say, in place of a measure.
REACHED = "reached"
OF_ACCOUNT = frozenset({SHARE, SESSIONS, PART_GROWN})


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagnosisCatalogue(Strict):
    """The content of findings.yaml."""

    measures: Mapping[str, MeasureDefinition]
    account: Mapping[str, PartDefinition]
    findings: Mapping[str, FindingDefinition]

    def inputs_of(self, finding: FindingDefinition) -> dict[str, None]:
        """The measures on which a finding depends, in order."""
        names = [name for limits in finding.when for name in limits if name not in OF_ACCOUNT]
        part = [self.account[finding.part].measure, finding.times] if finding.part else []
        return dict.fromkeys([*names, *filter(None, part)])

    def that_read(self, metrics: Collection[str]) -> list[str]:
        """The findings that need any of these metrics."""
        return [name for name, each in self.findings.items() if not self.metrics_of(each).isdisjoint(metrics)]

    def metrics_of(self, finding: FindingDefinition) -> set[str]:
        """The metrics that a finding needs."""
        inputs = self.inputs_of(finding)
        defined = [self.measures[self.measures[name].compared or name] for name in inputs]
        found = {selection.metric for each in defined for selection in each.selections}
        by_waits = finding.part or any(OF_ACCOUNT & limits.keys() for limits in finding.when)
        return found | ({"ase_wait_seconds_total"} if by_waits else set())

    def part_of(self, event_id: str, wait_class: str) -> str | None:
        """The part of the account that a wait event belongs to; None for those that are no part."""
        part = wait_parts().part_of(int(event_id) if event_id.isdigit() else UNKNOWN_EVENT, wait_class)
        return None if part == IDLE else part


@cache
def catalogue() -> DiagnosisCatalogue:
    """The content of findings.yaml."""
    loaded = yaml_files.load_shipped(_FILE, DiagnosisCatalogue)
    waits = wait_parts()
    account = {
        name: replace(part, classes=waits.classes_of(name), events=waits.events_of(name))
        for name, part in loaded.account.items()
    }
    return replace(loaded, account=account)


def threshold(limit: Limit) -> float:
    """A limit as a number."""
    known = thresholds().get(limit)
    return float(limit) if known is None else known
