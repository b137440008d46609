"""What each view says of an incident, against its truth."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tests.incidents.running import BEFORE, INTERVAL, Incident, incidents, samples

from ase_exporter.diagnosis.diagnose import (
    IDLE,
    NOT_COMPARED,
    WORKS,
    Diagnosis,
    Finding,
    baseline_of,
    diagnose,
)
from ase_exporter.top.detail import spinlock_lines
from ase_exporter.top.frames import Frame, History, frame
from ase_exporter.top.samples import Sample
from ase_exporter.top.scene import Scene
from ase_exporter.top.text import UNICODE

WELL = frozenset({WORKS, IDLE})
# Points: a symptom, the class of cause first, the object, the remedy with what it is expected to bring.
POINTS = 4


@dataclass(frozen=True)
class Score:
    """What was said at the end.

    word: the first of top, without a baseline; top: whether it is right. state: what the diagnosis puts first, with a
    baseline; seconds: since the fault until it has said so for good, None if it never does. about: what it names.
    """

    word: str
    top: bool
    state: str
    seconds: float | None
    about: str
    symptom: bool
    named: bool
    remedy: bool
    all_clears: tuple[str, ...]

    @property
    def points(self) -> int:
        """0 invisible, 1 symptom, 2 class of cause, 3 object as well, 4 remedy with its effect."""
        if self.seconds is None:
            return int(self.symptom)
        return 2 + self.named + (self.named and self.remedy)


@cache
def scores() -> Mapping[str, Score]:
    return {name: score(incident) for name, incident in incidents().items()}


def score(incident: Incident) -> Score:
    taken = samples(incident)
    before = [each for each in taken if each.monotonic < taken[0].monotonic + BEFORE]
    baseline = baseline_of(diagnose(before[-1]))
    after = taken[len(before) :]
    said = [diagnose(each, baseline) for each in after]
    shown = [frame(each) for each in after]
    last, top, first = said[-1], shown[-1], incident.truth.first
    right = [each.state in first and _found(last, incident) for each in said]
    settled = next((number for number in range(len(right)) if all(right[number:])), None)
    found = next((each for each in last.findings if each.name in first), None)
    return Score(
        word=top.diagnosis.word,
        top=top.diagnosis.state in first,
        state=last.state,
        seconds=None if settled is None else after[settled].monotonic - before[-1].monotonic - (INTERVAL - 1),
        about=f"{found.subject.kind} {found.subject.name}" if found and found.subject else "",
        symptom=last.state not in WELL,
        named=_named(found, incident),
        remedy=_eased(found, incident, after[-1], top),
        all_clears=tuple(
            view
            for view, each in (("diagnosis", last), ("top", top.diagnosis))
            if each.state in WELL and not WELL & set(first) and not _left_open(each, first)
        ),
    )


def _left_open(said: Diagnosis, first: Collection[str]) -> bool:
    """Whether its sentence says that the past was not looked at, and nothing but that would show the cause."""
    return NOT_COMPARED in said.sentence and set(first) <= {each.name for each in said.unknown}


def _found(said: Diagnosis, incident: Incident) -> bool:
    known = {each.name for each in said.findings} | {each.name for each in said.unknown}
    return set(incident.truth.also) <= known


def _named(found: Finding | None, incident: Incident) -> bool:
    """Where nothing has a name, the class of cause is all that there is to say."""
    if not incident.truth.about:
        return True
    return bool(found and found.subject and re.search(incident.truth.about, found.subject.name))


def _eased(found: Finding | None, incident: Incident, sample: Sample, top: Frame) -> bool:
    if not incident.truth.remedy:
        return found is None
    if found is None:
        return False
    texts = "\n".join([*found.next_steps, *(_advice(top, found) if found.subject else ())])
    effect = found.expect or "predicted contention" in texts
    return bool(re.search(incident.truth.remedy, texts)) and bool(effect)


def _advice(top: Frame, found: Finding) -> Iterator[str]:
    if found.subject and found.subject.kind == "spinlock":
        history = History()
        history.add(top)
        for line in spinlock_lines(Scene(top, history, UNICODE), found.subject.name):
            yield line.plain
