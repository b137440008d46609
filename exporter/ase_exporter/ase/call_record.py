"""The call record: which targets have a thread inside a call of the driver, in memory that outlives the process.

A crash of the driver ends the process that serves all targets. The process that follows finds in the record whose calls
were under way, and pauses a target that was among them twice in a row. The supervisor only keeps the memory.
"""

import mmap
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock

# When the event loop last ran (monotonic); 0 until the process accepts requests.
_HEARTBEAT = struct.Struct("=d")
# A target: whether a call is under way, deaths in a row, paused until (monotonic), sp_sysmon is not run again, name.
_SLOT = struct.Struct("=?Hd?128s")
# Targets of one process; what is beyond has no record.
MAX_TARGETS = 4096
SIZE = _HEARTBEAT.size + MAX_TARGETS * _SLOT.size


@dataclass(slots=True)
class _Slot:
    """What is known of a target. offset: of its slot in the memory."""

    offset: int
    deaths: int = 0
    paused_until: float = 0.0
    halted: bool = False


class CallRecord:
    """The record, in memory that a process shares with those that it forks. memory: SIZE bytes.

    suspects: targets with a call under way when the process before died.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK, memory: mmap.mmap | None = None) -> None:
        self._memory = memory or mmap.mmap(-1, SIZE)
        self._clock = clock
        self._slots: dict[str, _Slot] = {}
        self._thread = threading.local()
        self._lock = threading.Lock()
        self.suspects: list[str] = []

    def begin_process(self) -> None:
        """Continue the record of the process before, if there was one."""
        for number in range(MAX_TARGETS):
            in_call, *known, name = _SLOT.unpack_from(self._memory, _offset(number))
            if not (target := name.rstrip(b"\0").decode("ascii")):
                break
            slot = self._slots[target] = _Slot(_offset(number), *known)
            if in_call:
                self.suspects.append(target)
                self._count_death(slot)
            self._write(target, slot)

    def beat(self) -> None:
        """Say that the process accepts requests, and that its event loop runs."""
        _HEARTBEAT.pack_into(self._memory, 0, self._clock.monotonic())

    @property
    def heartbeat(self) -> float:
        """When a process last said so (monotonic); 0 if none has."""
        beat: float = _HEARTBEAT.unpack_from(self._memory)[0]
        return beat

    def enter_thread(self, target: str) -> None:
        """The calls of this thread are those of a target."""
        if slot := self._slot(target):
            self._thread.offset = slot.offset

    def mark(self, *, in_call: bool) -> None:
        """A call of this thread begins or ends."""
        if offset := getattr(self._thread, "offset", 0):
            self._memory[offset] = in_call

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call of this thread is under way within the block."""
        self.mark(in_call=True)
        try:
            yield
        finally:
            self.mark(in_call=False)

    def note_survival(self, target: str) -> None:
        """A scrape of the target has ended."""
        slot = self._slot(target)
        if slot and slot.deaths:
            slot.deaths, slot.paused_until = 0, 0.0
            self._write(target, slot)

    def pause(self, target: str) -> str:
        """Why the target must not be scraped now; '' if it may be."""
        slot = self._slots.get(target)
        left = slot.paused_until - self._clock.monotonic() if slot else 0.0
        if slot is None or left <= 0:
            return ""
        return f"its scrapes ended the exporter {slot.deaths} times in a row; tried again in {left:.0f} s"

    @property
    def paused(self) -> list[str]:
        """The targets that must not be scraped now."""
        return [target for target in self._slots if self.pause(target)]

    def halt_sysmon(self, target: str) -> None:
        """Note that sp_sysmon cleared counters of the target's server, and is not run there again."""
        if (slot := self._slot(target)) and not slot.halted:
            slot.halted = True
            self._write(target, slot)

    def is_sysmon_halted(self, target: str) -> bool:
        """Whether it has been noted."""
        return target in self._slots and self._slots[target].halted

    def _slot(self, target: str) -> _Slot | None:
        with self._lock:
            if target not in self._slots and len(self._slots) < MAX_TARGETS:
                slot = self._slots[target] = _Slot(_offset(len(self._slots)))
                self._write(target, slot)
            return self._slots.get(target)

    def _count_death(self, slot: _Slot) -> None:
        """The first one in a row may be an accident, or another target's; later ones are answered by growing pauses."""
        slot.deaths += 1
        if slot.deaths > 1:
            pause = min(TIMING.max_crash_pause, TIMING.crash_pause * 2.0 ** (slot.deaths - 2))
            slot.paused_until = self._clock.monotonic() + pause

    def _write(self, target: str, slot: _Slot) -> None:
        known = slot.deaths, slot.paused_until, slot.halted
        _SLOT.pack_into(self._memory, slot.offset, False, *known, target.encode("ascii"))


def _offset(number: int) -> int:
    return _HEARTBEAT.size + number * _SLOT.size


call_record = CallRecord()
"""Of the supervisor, and so of all that it forks."""
