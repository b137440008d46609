"""Feeds: where frames come from, live or recorded, for scripts and for the screen, and the evidence for advice."""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ase_exporter import advise
from ase_exporter.advise.evidence import Evidence
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.config import Config, Target
from ase_exporter.diagnosis.diagnose import STARTING, TOO_FEW
from ase_exporter.errors import UserError
from ase_exporter.top.frames import Frame, Framer
from ase_exporter.top.sampling import COLLECTORS, CollectorChoice, TargetSampler

log = logging.getLogger(__name__)

# Seconds beyond the timeouts of two scrapes after which a driver that does not return is given up.
SLACK = 5.0
# Seconds in which all servers may log out.
STOP_SECONDS = 1.0
# Over a second or two, engines that count whole seconds may not have moved: a few more samples are taken then.
MAX_SAMPLES = 5
# Which tables are read most, where they are cached and whose they are, and which session uses most.
MORE = ("objects", "cached_objects", "table_owners", "process_activity")
# Advice on bindings needs more objects than a scrape exports.
ADVICE = CollectorChoice(dict.fromkeys((*COLLECTORS, *MORE), 0.0), 200)
# Seconds of one sample: the tables of objects are large.
ADVICE_TIMEOUT = 60.0


# What a feed delivers: a frame, or in its place why no more of them come.
Delivered = Frame | UserError
Deliver = Callable[[Delivered], None]


class Feed:
    """Frames of one or more servers.

    targets: names of the servers. interval: seconds between two frames of one of them. is_live: whether it goes on
    while the screen is paused.
    """

    targets: list[str]
    interval: float
    is_live = True

    def start(self, deliver: Deliver) -> None:
        """Start sampling; `deliver` is called on other threads."""
        raise NotImplementedError

    def pause(self, paused: bool) -> None:
        """Pause or continue; servers do not pause."""

    def look_at(self, target: str, spid: int | None) -> None:
        """Also read what that session has waited for, from the next sample on; None: of none."""

    def stop(self) -> None:
        """Stop sampling, and log out where possible."""


class LiveFeed(Feed):
    """Samples servers, each on a thread and a connection of its own."""

    def __init__(self, samplers: Sequence[TargetSampler]) -> None:
        self.targets = [sampler.target.name for sampler in samplers]
        self.interval = samplers[0].interval
        self._samplers = samplers
        self._stopped = threading.Event()
        self.threads: list[threading.Thread] = []

    def look_at(self, target: str, spid: int | None) -> None:
        for sampler in self._samplers:
            sampler.looked_at = spid if sampler.target.name == target else None

    @property
    def timeout(self) -> float:
        """Seconds that the first two samples take at most."""
        return max(2 * sampler.timeout + sampler.interval for sampler in self._samplers) + SLACK

    def start(self, deliver: Deliver) -> None:
        for sampler in self._samplers:
            name, given = f"top {sampler.target.name}", (sampler, deliver)
            # A daemon: a driver that hangs must not keep the process from ending.
            self.threads.append(threading.Thread(target=self._run, args=given, name=name, daemon=True))
            self.threads[-1].start()

    def stop(self) -> None:
        self._stopped.set()
        end = time.monotonic() + STOP_SECONDS
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self, sampler: TargetSampler, deliver: Deliver) -> None:
        framer = Framer()
        with reported(sampler.target.name, deliver):
            while not self._stopped.is_set():
                due = time.monotonic() + sampler.interval
                deliver(framer.frame(sampler.take()))
                # After a scrape that took longer than the interval, the server gets a pause of half as long.
                late = time.monotonic() - due
                self._stopped.wait(max(-late, late / 2))
        sampler.close()


@contextmanager
def reported(target: str, deliver: Deliver) -> Iterator[None]:
    """Deliver an error that ends the block: nobody else would learn that no more frames come."""
    try:
        yield
    except UserError as error:
        deliver(error)
    except Exception as error:
        log.exception("target %s", target)
        deliver(UserError(f"target {target}: unexpected {type(error).__name__}, see the log"))


def first_frames(feed: LiveFeed) -> list[Frame]:
    """The first frame of each server that has rates, or the error in their place. Raises UserError if one hangs.

    A finding that needs no rate does not end the wait: it must not hide the others.
    """
    found: dict[str, Frame] = {}
    seen: Counter[str] = Counter()
    for each in frames(feed, feed.timeout):
        seen[each.sample.target] += 1
        starts = each.diagnosis.state == STARTING or each.diagnosis.measures["busy_share"].unknown == TOO_FEW
        if each.sample.error or not starts or seen[each.sample.target] > MAX_SAMPLES:
            found.setdefault(each.sample.target, each)
        if len(found) == len(feed.targets):
            break
    return [found[name] for name in feed.targets]


def frames(feed: Feed, timeout: float | None = None) -> Iterator[Frame]:
    """All frames as they come, until the caller stops. Raises UserError after `timeout` seconds without one, and in
    place of a frame that cannot be made."""
    incoming: queue.Queue[Delivered] = queue.Queue()
    feed.start(incoming.put)
    try:
        while True:
            found = incoming.get(timeout=timeout)
            if isinstance(found, UserError):
                raise found
            yield found
    except queue.Empty:
        raise UserError("top: the driver did not return in time") from None
    finally:
        feed.stop()


def advice_catalogue(directories: Iterable[str | Path] = ()) -> Catalogue:
    return load_catalogue((*directories, Path(advise.__file__).with_name("catalogue")))[0]


def gather(config: Config, target: Target, seconds: float) -> Evidence:
    """The evidence for advice over so many seconds.

    Two samples need no budget, and no changes are looked for. Raises UserError if the server does not answer.
    """
    quiet = replace(
        config,
        scrape=replace(config.scrape, budget=None),
        changes=replace(config.changes, enabled=False),
    )
    sampler = TargetSampler(
        quiet,
        replace(target, budget=None),
        advice_catalogue(config.catalogue.directories),
        seconds,
        timeout=ADVICE_TIMEOUT,
        selection=ADVICE,
    )
    (found,) = first_frames(LiveFeed([sampler]))
    if found.evidence is None:
        raise UserError(f"target {target.name}: {found.sample.error or 'nothing is known of it'}")
    return found.evidence
