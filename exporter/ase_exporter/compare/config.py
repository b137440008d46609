"""Settings of the judge, who compares before and after each change by himself."""

from typing import Annotated

from pydantic import Field

from ase_exporter.settings import Model, Seconds


class VerdictConfig(Model):
    """prometheus: where the targets' metrics are. selector: label matchers of a target, {target} is its name.

    settle: left out after a change; length: of each window at most, and how long after a change its verdict
    comes; interval: between looks for changes that are due; measures: of measures.yaml.
    """

    prometheus: str
    selector: str = 'instance="{target}"'
    settle: Seconds = 60.0
    length: Annotated[Seconds, Field(ge=60)] = 1800.0
    interval: Annotated[Seconds, Field(ge=1)] = 60.0
    measures: tuple[str, ...] = (
        "throughput_per_cpu_unit",
        "cpu_busy",
        "cache_contention",
        "spinlock_contention",
    )
