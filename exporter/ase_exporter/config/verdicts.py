"""Settings of automatic verdicts, which compare before and after each change."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from ase_exporter.config.fields import Seconds, Strict


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictConfig(Strict):
    """Automatic verdicts on changes. Durations are in seconds.

    prometheus: URL of the server that has the targets' metrics. selector: label matchers of a target; {target} is
    its name. settle: time left out after a change. length: maximum length of each window; the verdict comes settle +
    length after the change. interval: between two checks for verdicts that are due. measures: keys of measures.yaml.
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
