"""Frames: one moment of one server as it is shown, and the frames of the last minutes."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import (
    SECONDS_PER_SPIN,
    Diagnosis,
    cost_parameters,
    diagnose,
    unreachable,
)
from ase_exporter.top.figures import Figures, figures
from ase_exporter.top.samples import Sample

# Frames that are kept, of all servers together, and at least of each: ten minutes of one at two seconds.
MAX_FRAMES = 300
MIN_FRAMES = 20


@dataclass(frozen=True, slots=True)
class Frame:
    """A sample, without its readings, and what follows from them. options: run values of the configuration."""

    sample: Sample
    figures: Figures
    diagnosis: Diagnosis
    options: dict[str, int]


def frame(sample: Sample, seconds_per_spin: float | None = None) -> Frame:
    """The frame of a sample. seconds_per_spin: CPU seconds of a spin, None if they were not measured."""
    own = cost_parameters(seconds_per_spin, seconds_per_spin, seconds_per_spin) if seconds_per_spin else None
    diagnosis = unreachable(sample, sample.error) if sample.error else diagnose(sample, own=own)
    found = figures(sample, diagnosis, seconds_per_spin or threshold(SECONDS_PER_SPIN))
    options = {labels["name"]: int(value) for labels, value in sample.values("ase_config_value")}
    return Frame(replace(sample, series={}), found, diagnosis, options)


class History(deque[Frame]):
    """The last frames of one server, the oldest first. servers: how many there are."""

    def __init__(self, servers: int = 1) -> None:
        super().__init__(maxlen=max(MIN_FRAMES, MAX_FRAMES // servers))

    def until(self, shown: Frame) -> Iterator[Frame]:
        """The frames up to one of them."""
        for each in self:
            yield each
            if each is shown:
                return

    def trend(
        self, shown: Frame, length: int, value: Callable[[Figures], float | None]
    ) -> list[float | None]:
        """A figure in the last `length` frames up to one; None where it is missing."""
        return [value(each.figures) for each in list(self.until(shown))[-length:]]
