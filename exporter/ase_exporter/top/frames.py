"""Frames: one moment of one server as it is shown; and a scene, a frame with what the terminal can show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from ase_exporter.advise.evidence import Evidence, evidence_of
from ase_exporter.catalogue import ServerFacts
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import (
    NO_BASELINE,
    WORKS,
    Baseline,
    Diagnosis,
    Level,
    baseline_of,
    diagnose,
    typical,
    unreachable,
)
from ase_exporter.readings.samples import Sample
from ase_exporter.top.figures import Figures, figures
from ase_exporter.top.text import Glyphs, clock

# What must have been well before it counts as usual: seconds, and samples.
USUAL_SECONDS, USUAL_SAMPLES = 120.0, 8
# Each verdict begins with a word of its own, so colours only repeat it.
STYLES: Mapping[Level, str] = {
    "bad": "bold white on red",
    "warn": "bold yellow",
    "good": "bold green",
    "none": "bold",
}
# Characters of the smallest terminal that is supported.
NARROW = 80


@dataclass(frozen=True, slots=True)
class Frame:
    """A sample, without its readings, and what follows from them.

    evidence: None while the server is not known. usual: when the server did what the diagnosis is compared with, '' if
    it is compared with nothing.
    """

    sample: Sample
    figures: Figures
    diagnosis: Diagnosis
    evidence: Evidence | None
    usual: str = ""


def frame(sample: Sample, baseline: Baseline = NO_BASELINE, usual: str = "") -> Frame:
    """The frame of a sample. baseline: with what the diagnosis compares; usual: when that was."""
    diagnosis = unreachable(sample, sample.error) if sample.error else diagnose(sample, baseline)
    found = figures(sample, diagnosis)
    evidence = None
    if isinstance(facts := sample.facts, ServerFacts) and not sample.error:
        evidence = evidence_of(
            sample,
            diagnosis,
            facts.version,
            max(1.0, found.seconds),
            page_size=facts.page_size,
            options=facts.options,
        )
    return Frame(replace(sample, series={}), found, diagnosis, evidence, usual)


class Framer:
    """Makes the frames of one server, compared with its first minutes in which nothing was wrong.

    A server that was in trouble when the session began has no usual yet: its trouble must not become that.
    """

    def __init__(self) -> None:
        self._well: list[tuple[Sample, Baseline]] = []
        self._baseline, self._usual = NO_BASELINE, ""

    def frame(self, sample: Sample) -> Frame:
        found = frame(sample, self._baseline, self._usual)
        if not self._usual and _is_well(found.diagnosis):
            self._well.append((found.sample, baseline_of(found.diagnosis)))
            first = self._well[0][0]
            if sample.monotonic - first.monotonic >= USUAL_SECONDS and len(self._well) >= USUAL_SAMPLES:
                self._baseline = typical([each for _, each in self._well], fmean)
                self._usual = f"{clock(first.at)} to {clock(sample.at)}"
        return found


def _is_well(diagnosis: Diagnosis) -> bool:
    """Whether it works, and nothing that was found costs anything yet."""
    known = catalogue().findings
    return diagnosis.state == WORKS or (
        bool(diagnosis.findings) and all(known[each.name].risk for each in diagnosis.findings)
    )


@dataclass(frozen=True, slots=True)
class Scene:
    """A frame, the characters that the terminal can show, its width, and when the server answered last (Unix time)."""

    frame: Frame
    glyphs: Glyphs
    width: int = NARROW
    answered: float | None = None

    @property
    def figures(self) -> Figures:
        return self.frame.figures
