"""What is usual on a server at this hour: medians of what its diagnoses of the last day had, kept across restarts."""

import logging
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from urllib.parse import quote

import msgspec

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import NO_BASELINE, Baseline, Diagnosis, baseline_of, typical
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_bytes, write_bytes
from ase_exporter.untrusted.entry import load_json

log = logging.getLogger(__name__)

DIRECTORY = "usual"
# Seconds: between two moments that are kept; what lies that close to the same time of the day before is of the same
# kind of hour; for how long they are kept, and how old one is before it counts, so that what began a few minutes ago is
# not usual yet.
SPACING, DAY, ALIKE, RECENT = 300.0, 86400.0, 3600.0, 900.0
KEPT = DAY + ALIKE
# Moments without which nothing is called usual.
MIN_MOMENTS = 6


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """at: Unix time. usual: of its measures only those that are compared. bad: whether something bad was found."""

    at: float
    usual: Baseline
    bad: bool = False


class Usual:
    """What is usual on one target. For one thread at a time.

    directory: the state directory, None to keep nothing.
    """

    def __init__(self, target: str, directory: Path | None) -> None:
        self._target = target
        self._path = None
        if directory:
            self._path = directory / DIRECTORY / f"{quote(target, safe=':')}.json"
        self._moments: list[Moment] = self._read()
        self._baseline: Baseline | None = None

    def note(self, at: float, found: Diagnosis) -> None:
        """Keep the moment of a diagnosis at a Unix time, if one is due."""
        # After the clock went back, moments lie ahead: they would never become old.
        ahead = [each for each in self._moments if each.at > at]
        if self._moments and not ahead and at - self._moments[-1].at < SPACING:
            return
        usual = baseline_of(found)
        compared = {name: value for name, value in usual.measures.items() if name in _compared()}
        kept = [each for each in self._moments if at - KEPT <= each.at <= at]
        self._moments = [*kept, Moment(at, replace(usual, measures=compared), found.level == "bad")]
        self._baseline = None
        self._write()

    def baseline(self, at: float) -> Baseline:
        """What was usual at this hour of the day before a Unix time, else until a while before it.

        Of the same day, an incident is not usual because it lasts.
        """
        if self._baseline is None:
            known = [each for each in self._moments if each.at <= at - RECENT]
            alike = [each for each in known if abs(at - DAY - each.at) <= ALIKE]
            good = [each for each in known if not each.bad]
            counts = [each.usual for each in (alike if len(alike) >= MIN_MOMENTS else good)]
            self._baseline = typical(counts, median) if len(counts) >= MIN_MOMENTS else NO_BASELINE
        return self._baseline

    def _read(self) -> list[Moment]:
        if self._path is None:
            return []
        try:
            return msgspec.convert(load_json(read_bytes(self._path)), list[Moment])
        except FileNotFoundError:
            return []
        except (OSError, UserError, ValueError) as error:
            log.warning("target %s: what is usual begins anew: %s", self._target, error)
            return []

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            write_bytes(self._path, msgspec.json.encode(self._moments))
        except OSError as error:
            log.warning("target %s: what is usual is not kept: %s", self._target, error)


@cache
def _compared() -> frozenset[str]:
    """The measures that are compared with what is usual."""
    return frozenset(each.compared for each in catalogue().measures.values() if each.compared)
