"""Feeds: where frames come from, live or recorded, for scripts and for the screen alike."""

import queue
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ase_exporter.diagnosis.diagnose import STARTING
from ase_exporter.errors import UserError
from ase_exporter.top.frames import Frame, Framer
from ase_exporter.top.samples import Sample
from ase_exporter.top.sampling import TargetSampler, Watcher

# Seconds beyond the timeouts of two scrapes after which a driver that does not return is given up.
SLACK = 5.0
# Seconds in which all servers may log out.
STOP_SECONDS = 1.0
# Over a second or two, engines that count whole seconds may not have moved: a few more samples are taken then.
MAX_SAMPLES = 5


class Feed(Protocol):
    """Frames of one or more servers.

    targets: names of the servers. interval: seconds between two frames of one of them. is_live: whether it goes on
    while the screen is paused.
    """

    targets: list[str]
    interval: float
    is_live: bool

    def start(self, deliver: Callable[[Frame], None]) -> None:
        """Start sampling; `deliver` is called on other threads."""

    def pause(self, paused: bool) -> None:
        """Pause or continue, where that is possible."""

    def look_at(self, target: str, spid: int | None) -> None:
        """Also read what that session has waited for, from the next sample on; None: of none."""

    def stop(self) -> None:
        """Stop sampling, and log out where possible."""


class LiveFeed:
    """Samples servers, each on a thread and a connection of its own. seconds_per_spin: as for `figures`."""

    def __init__(self, samplers: Sequence[TargetSampler], seconds_per_spin: float | None = None) -> None:
        self.targets = [sampler.target.name for sampler in samplers]
        self.interval = samplers[0].interval
        self.is_live = True
        self._samplers = samplers
        self._seconds_per_spin = seconds_per_spin
        self._watchers: list[Watcher] = []

    def pause(self, paused: bool) -> None:
        """Do nothing: servers do not pause."""

    def look_at(self, target: str, spid: int | None) -> None:
        for sampler in self._samplers:
            sampler.looked_at = spid if sampler.target.name == target else None

    @property
    def timeout(self) -> float:
        """Seconds that the first two samples take at most."""
        return max(2 * sampler.timeout + sampler.interval for sampler in self._samplers) + SLACK

    def start(self, deliver: Callable[[Frame], None]) -> None:
        framers = {name: Framer(self._seconds_per_spin) for name in self.targets}

        def on_sample(sample: Sample) -> None:
            deliver(framers[sample.target].frame(sample))

        self._watchers = [Watcher(sampler, on_sample) for sampler in self._samplers]
        for watcher in self._watchers:
            watcher.start()

    def stop(self) -> None:
        for watcher in self._watchers:
            watcher.stop(0.0)
        # A driver that hangs is left to itself: its thread ends with the process.
        end = time.monotonic() + STOP_SECONDS
        for watcher in self._watchers:
            watcher.stop(max(0.0, end - time.monotonic()))


def first_frames(feed: LiveFeed) -> list[Frame]:
    """The first frame of each server that has figures, or the error in their place. Raises UserError if one hangs."""
    found: dict[str, Frame] = {}
    seen: Counter[str] = Counter()
    for each in frames(feed, feed.timeout):
        seen[each.sample.target] += 1
        # Else another sample would add something.
        whole = each.sample.error or each.diagnosis.state != STARTING
        if whole or seen[each.sample.target] > MAX_SAMPLES:
            found.setdefault(each.sample.target, each)
        if len(found) == len(feed.targets):
            break
    return [found[name] for name in feed.targets]


def frames(feed: Feed, timeout: float | None = None) -> Iterator[Frame]:
    """All frames as they come, until the caller stops. Raises UserError after `timeout` seconds without one."""
    incoming: queue.Queue[Frame] = queue.Queue()
    feed.start(incoming.put)
    try:
        while True:
            yield incoming.get(timeout=timeout)
    except queue.Empty:
        raise UserError("top: the driver did not return in time") from None
    finally:
        feed.stop()
