"""What `advise` reads of a server: two samples, with collectors that the screen does not read."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ase_exporter import advise
from ase_exporter.advise.evidence import Evidence
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.top.feed import LiveFeed, first_frames
from ase_exporter.top.sampling import COLLECTORS, CollectorChoice, TargetSampler

# Which tables are read most, where they are cached and whose they are, and which session uses most.
MORE = ("objects", "cached_objects", "table_owners", "process_activity")
# Advice on bindings needs more objects than a scrape exports.
SELECTION = CollectorChoice(dict.fromkeys((*COLLECTORS, *MORE), 0.0), 200)
# Seconds of one sample: the tables of objects are large.
TIMEOUT = 60.0


def advice_catalogue(directories: Iterable[str | Path] = ()) -> Catalogue:
    """The catalogue with the collectors of advice."""
    return load_catalogue((*directories, Path(advise.__file__).with_name("catalogue")))[0]


def gather(config: Config, target: Target, seconds: float, seconds_per_spin: float | None = None) -> Evidence:
    """The evidence for advice over so many seconds.

    Two samples need no budget, and no changes are looked for. seconds_per_spin: CPU seconds of a spin, None if they
    were not measured. Raises UserError if the server does not answer.
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
        timeout=TIMEOUT,
        selection=SELECTION,
    )
    (found,) = first_frames(LiveFeed([sampler], seconds_per_spin))
    if found.evidence is None:
        raise UserError(f"target {target.name}: {found.sample.error or 'nothing is known of it'}")
    return found.evidence
