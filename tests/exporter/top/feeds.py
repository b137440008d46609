"""A feed whose frames the test hands over, and frames of simulated servers to hand over."""

import queue
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.exporter.top.watching import one_step, watched

from ase_exporter.changes.change import Change
from ase_exporter.readings.samples import Sample
from ase_exporter.top.feed import Deliver, Delivered, Feed
from ase_exporter.top.frames import Frame, frame

START = datetime(2026, 3, 2, 9, 0)
FRAMES, INTERVAL = 6, 2.0


class HandFed(Feed):
    """Frames of the test's choice. stopped: the screen has ended."""

    # Of the title, which counts real seconds: however busy the machine is, no answer is late.
    interval = 3600.0

    def __init__(self, target: str) -> None:
        self.target = target
        self._deliver: Deliver = lambda new: None
        self.stopped = False
        self.looked_at: int | None = None

    def look_at(self, spid: int | None) -> None:
        self.looked_at = spid

    def start(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def stop(self) -> None:
        self.stopped = True

    def feed(self, *frames: Delivered) -> None:
        """Hand frames over, as a sampler's thread would."""
        for each in frames:
            self._deliver(each)


def into(shown: "queue.Queue[Frame]") -> Deliver:
    """Puts all frames into a queue; there must be no error among them."""

    def deliver(new: Delivered) -> None:
        assert isinstance(new, Frame)
        shown.put(new)

    return deliver


@cache
def recorded(scenario: str, step: str = "") -> tuple[Frame, ...]:
    """Frames of a simulated server, two seconds apart; the first is without figures."""
    with TemporaryDirectory() as directory:
        chosen = one_step(scenario, step, Path(directory)) if step else scenario
        with watched(chosen, start=START) as watching:
            return tuple(watching.frames(FRAMES, INTERVAL))


def failed(target: str, error: str, kind: str) -> Frame:
    return frame(Sample(target, 1_700_000_000.0, 0.0, INTERVAL, error=error, kind=kind))


def changed(given: Frame, name: str) -> Frame:
    """The frame with one more change."""
    change = Change("id", given.sample.target, "option", name, "100", "5", given.sample.at)
    return replace(given, sample=replace(given.sample, changes=(*given.sample.changes, change)))
