"""The diagnosis of a server as metric families, so that dashboards and alerts show what every other view shows."""

from collections.abc import Iterable, Iterator

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import DOWN, STATE_RANKS, Diagnosis
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family, Sample

LEVELS = {"good": 0.0, "warn": 1.0, "bad": 2.0}


def diagnosis_families(found: Diagnosis) -> Iterator[Family]:
    """The families of one diagnosis; those that nothing is known of are absent.

    The number of series follows from findings.yaml, and only the info metric has a name of the server's.
    """
    unknown = {each.name for each in found.unknown}
    held = {each.name: each for each in found.findings}
    # Of a server that does not answer, nothing else is known.
    judged = [] if DOWN in held else [name for name in catalogue().findings if name not in unknown]
    words = {name: definition.word for name, definition in catalogue().findings.items()}
    yield from _with_samples(
        "ase_diagnosis_finding",
        [((name, words[name]), float(name in held)) for name in dict.fromkeys([*held, *judged])],
    )
    yield from _with_samples(
        "ase_diagnosis_share",
        [((each.name,), each.share) for each in found.findings if each.share is not None],
    )
    ranks: list[Sample] = [((each.name, each.word), each.rank) for each in found.findings]
    if found.state in STATE_RANKS:
        ranks.append(((found.state, found.word), found.rank))
    yield OWN.family("ase_diagnosis_rank", ranks)
    subject = found.findings[0].subject if found.findings else None
    kind, name = (subject.kind, subject.name) if subject else ("", "")
    yield OWN.family("ase_diagnosis_first_info", [((found.state, kind, name, found.word), 1.0)])
    if found.level in LEVELS:
        yield OWN.value("ase_diagnosis_level", LEVELS[found.level])
    yield from _with_samples(
        "ase_diagnosis_account_sessions", [((part,), value) for part, value in found.account.parts.items()]
    )


def _with_samples(name: str, samples: Iterable[Sample]) -> Iterator[Family]:
    if found := list(samples):
        yield OWN.family(name, found)
