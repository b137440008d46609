"""Top compares with the first minutes of its session in which nothing was wrong, and says so."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.incidents.running import Site, incidents, take

from ase_exporter.readings.samples import Sample
from ase_exporter.top import frames
from ase_exporter.top.frames import Frame, Framer, Scene
from ase_exporter.top.header import baseline, header, title
from ase_exporter.top.text import UNICODE


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is well for ten seconds is usual: incidents have no longer past."""
    monkeypatch.setattr(frames, "USUAL_SECONDS", 10.0)
    monkeypatch.setattr(frames, "USUAL_SAMPLES", 2)


def shown(samples: Sequence[Sample]) -> list[Frame]:
    framer = Framer()
    return [framer.frame(each) for each in samples]


def text(frame: Frame) -> str:
    scene = Scene(frame, UNICODE, 500)
    return "\n".join([title(scene) + baseline(scene), *(line.plain for line in header(scene))])


@pytest.mark.parametrize(
    ("incident", "finding"), [("deployment", "heavier"), ("huge_pages", "costlier"), ("runaway", "runaway")]
)
def test_what_has_grown_in_the_session_is_found(incident: str, finding: str) -> None:
    taken = take(incidents()[incident], Site())
    off = {"process_activity", "objects"}
    samples = [replace(each, off=each.off - off) for each in (*taken.before, *taken.after)]
    first, *_, last = shown(samples)
    assert "no baseline yet" in text(first) and not first.usual
    assert last.diagnosis.state == finding
    assert f"compared with {last.usual}" in text(last)


def test_trouble_at_the_start_never_becomes_the_usual() -> None:
    taken = take(incidents()["log_semaphore"], Site())
    found = shown(taken.after)
    assert {each.usual for each in found} == {""} and "no baseline yet" in text(found[-1])
    assert found[-1].diagnosis == frames.frame(taken.after[-1]).diagnosis
