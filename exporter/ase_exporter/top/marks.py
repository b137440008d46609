"""Marks: the configuration changes that a target shows while it is watched."""

from collections.abc import Sequence

from ase_exporter.changes.change import Change, from_differences
from ase_exporter.changes.snapshot import ConfigSnapshot, Parts, compare, decode, merge

# Changes of one target that are kept.
MAX_CHANGES = 200


class ChangeLog:
    """Compares the snapshots of one target as they come, in memory alone. changes: the oldest first."""

    def __init__(self, target: str) -> None:
        self.changes: Sequence[Change] = ()
        self._target = target
        self._parts: Parts = {}
        self._seen_at = 0.0

    def note(self, snapshot: ConfigSnapshot) -> None:
        """Compare a snapshot with the one before; the first one is the baseline."""
        not_before, self._seen_at = self._seen_at, snapshot.at
        old, new = self._parts, decode(snapshot.encoded_parts)
        self._parts = merge(old, new)
        if old:
            found = from_differences(self._target, compare(old, new), snapshot, not_before)
            self.changes = (*self.changes, *found)[-MAX_CHANGES:]
