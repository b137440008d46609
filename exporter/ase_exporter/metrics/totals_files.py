"""The totals of all targets' counters in files, which outlive the process: one file for each target.

Files are replaced as a whole and have a checksum. They are not synced to the disk: a power cut may cost the totals of
the last minutes.
"""

import logging
from pathlib import Path

from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.epochs import Epochs
from ase_exporter.metrics.saved_totals import MAX_SIZE, TotalsError, encode, restore
from ase_exporter.regular_files import read_bytes, write_bytes

log = logging.getLogger(__name__)

DIRECTORY = "totals"
# Totals of a target that is not scraped any more are deleted if they are so many seconds older than the newest ones.
# Not than the clock, which may be far ahead.
MAX_AGE = 30 * 86400.0
_SUFFIX = ".totals"
_TEMPORARY = ".new"
_BAD = ".bad"


class TotalsFiles:
    """The files in a state directory. Thread-safe, for one thread per target."""

    def __init__(self, state_directory: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._directory = state_directory / DIRECTORY
        self._clock = clock
        self._problem = ""
        try:
            self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
            self._delete_old()
        except OSError as error:
            self._report(error)

    @property
    def works(self) -> bool:
        """Whether the last file could be written."""
        return not self._problem

    def restore(self, target: str, store: CounterStore) -> None:
        """Have a store continue with its totals; without a file, or if that is damaged, it starts at 0."""
        path = self._path(target)
        try:
            if path.stat().st_size > MAX_SIZE:
                raise TotalsError(f"larger than {MAX_SIZE >> 20} MiB")
            restore(store, read_bytes(path), self._clock)
            # From now on, what is in the file may lag.
            if not self.save(target, store):
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            pass
        except (OSError, TotalsError) as error:
            why = getattr(error, "strerror", None) or error
            # They may have been read, but not be marked as what lags from now on.
            store.epochs, store.tables = Epochs(), {}
            store.events.clear()
            text = "target %s: counters restart at 0: saved totals are %s; kept as *%s"
            log.warning(text, target, why, _BAD)
            try:
                path.replace(path.with_suffix(_BAD))
            except OSError as denied:
                self._report(denied)

    def save(self, target: str, store: CounterStore, *, final: bool = False) -> bool:
        """Write the totals of a store; whether they are written. final: it does not count any more."""
        try:
            content = encode(store, self._clock, final=final)
            if len(content) > MAX_SIZE:
                return False
            write_bytes(self._path(target), content)
        except TotalsError:
            return False
        except OSError as error:
            self._report(error)
            return False
        if self._problem:
            self._problem = ""
            log.info("state directory: totals are written again")
        return True

    def _path(self, target: str) -> Path:
        return self._directory / f"{target}{_SUFFIX}"

    def _delete_old(self) -> None:
        written = {path: path.stat().st_mtime for path in self._directory.iterdir()}
        newest = max(written.values(), default=0.0)
        for path, time in written.items():
            if path.suffix == _TEMPORARY or newest - time > MAX_AGE:
                path.unlink(missing_ok=True)

    def _report(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        if reason != self._problem:
            log.error("state directory: totals cannot be written: %s", reason)
        self._problem = reason
