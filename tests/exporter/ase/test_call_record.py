"""What the call record says to the process that follows one that died."""

import mmap

import pytest
from tests.exporter.clocks import StandingClock

from ase_exporter.ase.call_record import SIZE, CallRecord


class Exporter:
    """Processes that follow each other and share the memory of the record."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self._memory = mmap.mmap(-1, SIZE)

    def process(self) -> CallRecord:
        """The record of the next process."""
        record = CallRecord(self.clock.clock, self._memory)
        record.begin_process()
        return record


@pytest.fixture
def exporter() -> Exporter:
    return Exporter()


def die_in_a_call(record: CallRecord, *targets: str) -> None:
    """What is in the memory when the process dies while these targets wait for the driver."""
    for target in targets:
        record.enter_thread(target)
        record.mark(in_call=True)


def test_a_call_that_has_returned_is_no_suspect(exporter: Exporter) -> None:
    record = exporter.process()
    record.enter_thread("ONE")
    with record.calling():
        pass
    die_in_a_call(record, "TWO")
    after = exporter.process()
    assert (after.suspects, after.paused) == (["TWO"], [])


def test_a_target_is_paused_after_two_deaths_in_a_row_for_longer_each_time(exporter: Exporter) -> None:
    pauses = []
    for _ in range(7):
        record = exporter.process()
        said = record.pause("BAD")
        pauses.append(said.rpartition(" in ")[2])
        die_in_a_call(record, "BAD")
    assert pauses == ["", "", "60 s", "120 s", "240 s", "300 s", "300 s"]
    assert said.startswith("its scrapes ended the exporter 6 times in a row; tried again in")
    assert exporter.process().pause("OTHER") == ""


def test_a_scrape_that_ends_clears_the_count(exporter: Exporter) -> None:
    for _ in range(3):
        record = exporter.process()
        record.note_survival("BAD")
        die_in_a_call(record, "BAD")
    assert exporter.process().paused == []


def test_a_halted_sp_sysmon_is_known_to_the_next_process(exporter: Exporter) -> None:
    exporter.process().halt_sysmon("ONE")
    after = exporter.process()
    assert (after.is_sysmon_halted("ONE"), after.is_sysmon_halted("TWO")) == (True, False)


def test_a_heartbeat_is_seen_by_who_shares_the_memory(exporter: Exporter) -> None:
    supervisor = exporter.process()
    assert supervisor.heartbeat == 0
    exporter.process().beat()
    assert supervisor.heartbeat == exporter.clock.monotonic()
