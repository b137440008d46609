"""The totals of all targets' counters, which survive workers, reloads and, in a state directory, the exporter.

A worker sends the totals of a module with each of its scrapes; they are written before the scrape is answered, so that
no answer shows more than what another process would continue. Files are replaced as a whole and have a checksum; they
are not synced to the disk, so a power cut may cost the totals of the last scrapes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from ase_exporter.metrics.saved_totals import MAX_SIZE, SavedTotals, TotalsError, check
from ase_exporter.regular_files import read_bytes, write_bytes

log = logging.getLogger(__name__)

DIRECTORY = "totals"
# Seconds that an answer waits for a slow disk.
MAX_WAIT = 0.25
# Totals of a target that is not scraped any more are deleted if they are so many seconds older than the newest ones.
# Not than the clock, which may be far ahead.
MAX_AGE = 30 * 86400.0
_SUFFIX = ".totals"
_TEMPORARY = ".new"
_BAD = ".bad"


class TotalsRegister:
    """The saved totals by target and module. directory: the state directory; None keeps them in memory only."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory / DIRECTORY if directory else None
        # What no file holds: without a directory, or while it cannot be written.
        self._in_memory: dict[tuple[str, str], bytes] = {}
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="totals")
        self._problem = ""
        if self._directory:
            try:
                self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
                self._delete_old(self._directory)
            except OSError as error:
                self._report(error)

    @property
    def persistent(self) -> bool:
        """Whether totals survive the exporter."""
        return self._directory is not None and not self._problem

    def of(self, target: str) -> Mapping[str, bytes]:
        """The totals of a target by module."""
        found: dict[str, bytes] = {}
        if self._directory:
            prefix = _name(target, "")
            with contextlib.suppress(OSError):
                for path in self._directory.glob(f"{_escaped(prefix)}*{_SUFFIX}"):
                    module = path.name.removeprefix(prefix).removesuffix(_SUFFIX)
                    with contextlib.suppress(OSError):
                        found[module] = _checked(path)
        return found | {
            module: content for (name, module), content in self._in_memory.items() if name == target
        }

    async def keep(self, totals: SavedTotals) -> None:
        """Keep the totals, on disk if there is a directory, before the scrape is answered."""
        key = totals.target, totals.module
        if len(totals.content) > MAX_SIZE:
            return
        self._in_memory[key] = totals.content
        if self._directory is None:
            return
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._executor, self._write, self._directory, totals)
        with contextlib.suppress(TimeoutError):
            if await asyncio.wait_for(asyncio.shield(writing), MAX_WAIT) and (
                self._in_memory.get(key) is totals.content
            ):
                del self._in_memory[key]

    def close(self) -> None:
        """Finish writing."""
        self._executor.shutdown()

    def _write(self, directory: Path, totals: SavedTotals) -> bool:
        path = directory / f"{_name(totals.target, totals.module)}{_SUFFIX}"
        try:
            write_bytes(path, totals.content)
        except OSError as error:
            self._report(error)
            return False
        if self._problem:
            self._problem = ""
            log.info("state directory: totals are written again")
        return True

    def _delete_old(self, directory: Path) -> None:
        written = {path: path.stat().st_mtime for path in directory.iterdir()}
        newest = max(written.values(), default=0.0)
        for path, time in written.items():
            if path.suffix == _TEMPORARY or newest - time > MAX_AGE:
                path.unlink(missing_ok=True)

    def _report(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        if reason != self._problem:
            log.error("state directory: totals cannot be written: %s; they are kept in memory", reason)
        self._problem = reason


def _checked(path: Path) -> bytes:
    """The totals in a file. Raises OSError; damaged or forged ones are put aside, and a line in the log says so."""
    try:
        if path.stat().st_size > MAX_SIZE:
            raise TotalsError(f"larger than {MAX_SIZE >> 20} MiB")
        content = read_bytes(path)
        check(content)
    except TotalsError as error:
        path.replace(path.with_suffix(_BAD))
        log.warning("%s: counters restart at 0: saved totals are %s; kept as *%s", path.stem, error, _BAD)
        raise OSError(str(error)) from None
    return content


def _name(target: str, module: str) -> str:
    """A file name without its suffix; quoted, so that `@` separates, and long names stay within limits."""
    return f"{quote(target, safe=':')}@{quote(module, safe='')}"


def _escaped(text: str) -> str:
    """Text for a glob pattern; quoting has left no other special characters than [."""
    return text.replace("[", "[[]")
