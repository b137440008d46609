"""Settings of the judge, who compares before and after each change by himself."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from ase_exporter.checks import Seconds, Strict


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictConfig(Strict):
    """prometheus: where the targets' metrics are. selector: label matchers of a target, {target} is its name.

    settle: left out after a change; length: of each window at most, and how long after a change its verdict
    comes; interval: between looks for changes that are due; measures: of measures.yaml.
    """

    prometheus: str
    selector: str = 'instance="{target}"'
    settle: Seconds = 60.0
    length: Annotated[Seconds, Ge(60)] = 1800.0
    interval: Annotated[Seconds, Ge(1)] = 60.0
    measures: tuple[str, ...] = (
        "throughput_per_cpu_unit",
        "cpu_busy",
        "cache_contention",
        "spinlock_contention",
    )
