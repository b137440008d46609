"""Changes the real kernel's huge-page settings for a test, and always restores them."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NR_HUGEPAGES = Path("/proc/sys/vm/nr_hugepages")
NR_1GIB = Path("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages")
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class KernelSettings:
    """set() writes a kernel file; restore() restores all of them."""

    def __init__(self) -> None:
        self._before: dict[Path, str] = {}

    def set(self, file: Path, value: object) -> None:
        """Write one setting; skips the test if this machine does not permit it."""
        try:
            before = file.read_text()
            if "[" in before:
                before = before[before.index("[") + 1 : before.index("]")]
            file.write_text(f"{value}\n")
        except OSError as error:
            pytest.skip(
                f"{file} cannot be written here ({error.strerror}): needs root and a writable /proc/sys"
            )
        self._before.setdefault(file, before)

    def pages(self, file: Path, wanted: int) -> None:
        """Set a number of huge pages; skips the test if the kernel has no memory for them."""
        self.set(file, wanted)
        if (got := int(file.read_text())) != wanted:
            pytest.skip(f"the kernel gave {got} of {wanted} huge pages ({file}): memory is too fragmented")

    def restore(self) -> None:
        """Restore every setting."""
        for file, value in reversed(self._before.items()):
            file.write_text(value)


@contextmanager
def kernel_settings() -> Iterator[KernelSettings]:
    """Settings that one test at a time may change, on the whole machine."""
    if os.geteuid() != 0:
        pytest.skip("changing the kernel's settings needs root")
    with Path(tempfile.gettempdir(), "kernel-settings.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settings = KernelSettings()
        try:
            yield settings
        finally:
            settings.restore()
