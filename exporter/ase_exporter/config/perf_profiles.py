"""perf events by CPU family, as perf_profiles.yaml lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ase_exporter.config.fields import Strict

_FILE = Path(__file__).with_name("perf_profiles.yaml")


@dataclass(frozen=True, kw_only=True, slots=True)
class PerfProfile(Strict):
    """Raw events of one CPU family; vendor, family and models as in /proc/cpuinfo."""

    vendor: str
    family: int
    models: tuple[int, ...]
    events: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiles(Strict):
    """The whole file. kernel: events that are read by their kernel names on a CPU without a profile."""

    common: Mapping[str, str]
    profiles: Mapping[str, PerfProfile]
    kernel: tuple[str, ...]


@cache
def shipped() -> Profiles:
    """The profiles that come with the exporter."""
    # Imported here because it loads pydantic.
    from ase_exporter.config import yaml_files

    return yaml_files.load(_FILE, Profiles)
