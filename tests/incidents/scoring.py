"""What each view says of an incident, against its truth."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from tests.incidents.running import Incident, Site, incidents, take

from ase_exporter.advise.advice import advise
from ase_exporter.advise.view import spinlock_parts
from ase_exporter.diagnosis.diagnose import (
    IDLE,
    NOT_COMPARED,
    WORKS,
    Diagnosis,
    Finding,
    baseline_of,
    diagnose,
)
from ase_exporter.diagnosis.provenance import collector_of
from ase_exporter.readings.samples import Sample
from ase_exporter.top.frames import Frame, frame
from ase_exporter.views.terminal import text
from ase_exporter.views.view import View

WELL = frozenset({WORKS, IDLE})
# All there are: a symptom, the class of cause first, the object, the remedy with what it is expected to bring.
POINTS = 4
USUAL = Site()


@dataclass(frozen=True)
class Score:
    """What was said at the end.

    state: what the diagnosis puts first, with a baseline. right: whether that is the cause, and all else is found that
    must be. points: 0 invisible, 1 symptom, 2 class of cause, 3 object as well, 4 remedy with its effect. all_clears:
    views that call the server well although it is not. spinning: share of the CPU, by the model; measured: by the
    diagnosis, None if it is not known.
    """

    state: str
    right: bool
    points: int
    all_clears: tuple[str, ...]
    spinning: float
    measured: float | None


@cache
def scores(site: Site = USUAL) -> Mapping[str, Score]:
    return {name: score(incident, site) for name, incident in incidents().items()}


def by_number(points: Mapping[str, int]) -> dict[int, int]:
    """Points of each kind of incident: those of its worst variant."""
    found: dict[int, int] = {}
    for name, incident in incidents().items():
        if incident.number is not None:
            found[incident.number] = min(points[name], found.get(incident.number, POINTS))
    return found


def score(incident: Incident, site: Site) -> Score:
    taken = take(incident, site)
    baseline, last = baseline_of(diagnose(_recorded(taken.before[-1], incident))), taken.after[-1]
    said, top, first = diagnose(_recorded(last, incident), baseline), frame(last), incident.truth.first
    known = {each.name for each in said.findings} | {each.name for each in said.unknown}
    found = next((each for each in said.findings if each.name in first), None)
    right = said.state in first and set(incident.truth.also) <= known
    named = _named(found, incident, last)
    return Score(
        state=said.state,
        right=right,
        points=2 + named + (named and _eased(found, incident, top)) if right else int(said.state not in WELL),
        all_clears=tuple(
            view
            for view, each in (("diagnosis", said), ("top", top.diagnosis))
            if each.state in WELL and not WELL & set(first) and not _left_open(each, first)
        ),
        spinning=taken.spinning,
        measured=said.measures["spinning_share"].value,
    )


def _recorded(sample: Sample, incident: Incident) -> Sample:
    """What Prometheus has: also of the collectors that the incident needs and that top does not read."""
    return replace(sample, off=sample.off - {collector_of(each.metric) for each in incident.series})


def _left_open(said: Diagnosis, first: Collection[str]) -> bool:
    """Whether its sentence says that the past was not looked at, and nothing but that would show the cause."""
    return NOT_COMPARED in said.sentence and set(first) <= {each.name for each in said.unknown}


def _named(found: Finding | None, incident: Incident, sample: Sample) -> bool:
    """Where nothing has a name, the class of cause is all that there is to say."""
    changed, about = incident.truth.changed, incident.truth.about
    if changed and not any(re.search(changed, each.name) for each in sample.changes):
        return False
    return not about or bool(found and found.subject and re.search(about, found.subject.name))


def _eased(found: Finding | None, incident: Incident, top: Frame) -> bool:
    if not incident.truth.remedy:
        return found is None
    if found is None:
        return False
    texts = "\n".join(found.next_steps)
    if found.subject and found.subject.kind == "spinlock" and top.evidence:
        advised = [each for each in advise(top.evidence).findings if each.spinlock.name == found.subject.name]
        texts += text(View("", [part for each in advised for part in spinlock_parts(each)]))
    return bool(found.expect and re.search(incident.truth.remedy, texts))
