"""Snapshots of a server that has options alone."""

import time

from ase_exporter.changes.snapshot import ConfigSnapshot, Part, Setting, encode


def snapshot_of(options: dict[str, str]) -> ConfigSnapshot:
    """A snapshot of a server with these options, taken now."""
    objects = {name: {"": Setting(value, value)} for name, value in options.items()}
    return ConfigSnapshot(time.time(), encode({"option": Part("option", "sysconfigures", objects)}))
