"""Feeds: frames of a server, live or recorded, on a thread for the screen and one after the other for scripts."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

from ase_exporter.advise.evidence import Evidence
from ase_exporter.capture.stream import read_scrapes
from ase_exporter.catalogue import Catalogue
from ase_exporter.config import Config, Target
from ase_exporter.diagnosis.diagnose import STARTING, TOO_FEW
from ase_exporter.errors import UserError
from ase_exporter.readings.live import ADVICE, TargetSampler, advice_catalogue
from ase_exporter.readings.recording import Replayer
from ase_exporter.top.frames import Frame, Framer

log = logging.getLogger(__name__)

# Seconds beyond the timeouts of two scrapes after which a driver that does not return is given up.
SLACK = 5.0
# Seconds for the log-out.
STOP_SECONDS = 1.0
# Over a second or two, engines that count whole seconds may not have moved: a few more samples are taken then.
MAX_SAMPLES = 5
# Seconds of one sample for advice: the tables of objects are large.
ADVICE_TIMEOUT = 60.0
# Seconds: a longer pause of a recording is shown as one of these.
MAX_PAUSE = 60.0


# What a feed delivers: a frame, or in its place why no more of them come.
Delivered = Frame | UserError
Deliver = Callable[[Delivered], None]
Frames = Generator[Frame, None, None]


class Feed:
    """Frames of one server.

    target: its name. interval: seconds between two frames. is_live: whether it goes on while the screen is paused.
    """

    target: str
    interval: float
    is_live = True
    thread: threading.Thread

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def source(self) -> Frames:
        """The frames as they come."""
        raise NotImplementedError

    def start(self, deliver: Deliver) -> None:
        """Start to take frames on a thread, which calls `deliver`."""
        # A daemon: a driver that hangs must not keep the process from ending.
        self.thread = threading.Thread(
            target=self._run, args=(deliver,), name=f"top {self.target}", daemon=True
        )
        self.thread.start()

    def _run(self, deliver: Deliver) -> None:
        found = self.source()
        try:
            for each in found:
                if self._stopped.is_set():
                    break
                deliver(each)
        except UserError as error:
            deliver(error)
        except Exception as error:
            # Nobody else would learn that no more frames come.
            log.exception("target %s", self.target)
            deliver(UserError(f"target {self.target}: unexpected {type(error).__name__}, see the log"))
        finally:
            found.close()

    def pause(self, paused: bool) -> None:
        """Pause or continue; servers do not pause."""

    def look_at(self, spid: int | None) -> None:
        """Also read what that session has waited for, from the next sample on; None: of none."""

    def stop(self) -> None:
        """Stop, and log out where possible."""
        self._stopped.set()
        self.thread.join(STOP_SECONDS)


class LiveFeed(Feed):
    """Samples a server."""

    def __init__(self, sampler: TargetSampler) -> None:
        super().__init__()
        self.target = sampler.target.name
        self.interval = sampler.interval
        self._sampler = sampler

    def look_at(self, spid: int | None) -> None:
        self._sampler.looked_at = spid

    @property
    def timeout(self) -> float:
        """Seconds that the first two samples take at most."""
        return 2 * self._sampler.timeout + self.interval + SLACK

    def source(self) -> Frames:
        framer = Framer()
        try:
            while not self._stopped.is_set():
                due = time.monotonic() + self.interval
                yield framer.frame(self._sampler.take())
                # After a scrape that took longer than the interval, the server gets a pause of half as long.
                late = time.monotonic() - due
                self._stopped.wait(max(-late, late / 2))
        finally:
            self._sampler.close()


class ReplayFeed(Feed):
    """Shows a file again. interval: seconds between frames, None for those of the recording; 0 for no pause.

    Raises UserError if the file is not a capture: all of it is read once before.
    """

    is_live = False

    def __init__(self, path: Path, catalogue: Catalogue, *, interval: float | None = None) -> None:
        super().__init__()
        self._header, scrapes = read_scrapes(path)
        if not sum(1 for _ in scrapes):
            raise UserError(f"--replay {path}: expected at least one scrape")
        self._path = path
        # Captures do not hold the name of the target.
        self.target = path.name.removesuffix(".gz").removesuffix(".capture")
        self.interval = self._header.interval if interval is None else interval
        self._catalogue = catalogue
        self._pace = interval
        self._going = threading.Event()
        self._going.set()

    def pause(self, paused: bool) -> None:
        (self._going.clear if paused else self._going.set)()

    def stop(self) -> None:
        self._stopped.set()
        self._going.set()
        super().stop()

    def frames(self) -> Iterator[Frame]:
        """All frames, without pauses."""
        _, scrapes = read_scrapes(self._path)
        replayer = Replayer(self._header, self.target, self._catalogue)
        framer = Framer()
        for statements in scrapes:
            yield framer.frame(replayer.sample(statements))

    def source(self) -> Frames:
        before: float | None = None
        for each in self.frames():
            if before is not None:
                pause = each.sample.monotonic - before if self._pace is None else self._pace
                self._stopped.wait(min(MAX_PAUSE, max(0.0, pause)))
                self._going.wait()
            yield each
            before = each.sample.monotonic


def first_frame(feed: LiveFeed) -> Frame:
    """The first frame that has rates, or an error in its place. Raises UserError if the driver hangs.

    A finding that needs no rate does not end the wait: it must not hide the others.
    """
    for seen, each in enumerate(frames(feed, feed.timeout), 1):
        starts = each.diagnosis.state == STARTING or each.diagnosis.measures["busy_share"].unknown == TOO_FEW
        if each.sample.error or not starts or seen > MAX_SAMPLES:
            break
    return each


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


def gather(config: Config, target: Target, seconds: float) -> Evidence:
    """The evidence for advice over so many seconds.

    Two samples need no budget, and no changes are looked for. Raises UserError if the server does not answer.
    """
    quiet = replace(
        config, scrape=replace(config.scrape, budget=None), changes=replace(config.changes, enabled=False)
    )
    sampler = TargetSampler(
        quiet,
        replace(target, budget=None),
        advice_catalogue(config.catalogue.directories),
        seconds,
        timeout=ADVICE_TIMEOUT,
        selection=ADVICE,
    )
    found = first_frame(LiveFeed(sampler))
    if found.evidence is None:
        raise UserError(f"target {target.name}: {found.sample.error or 'nothing is known of it'}")
    return found.evidence
