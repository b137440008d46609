"""The published output of a real server, which lies outside the project, as a capture."""

import pytest
from tests.exporter.capture.isql import capture_of
from tests.paths import SHARED

from ase_exporter.capture.file import Capture
from ase_exporter.capture.playback import NOT_RECORDED, Playback
from ase_exporter.catalogue import load_catalogue
from ase_exporter.commands.target_check import TargetCheck
from ase_exporter.config import Auth, Config, Target


def rows(taken: Capture, start: str) -> list[list[object]]:
    (found,) = [each for each in taken.statements if each.sql.startswith(start)]
    return [list(row) for row in found.rows]


def test_the_collectors_read_the_published_output_of_a_real_16_0() -> None:
    file = SHARED / "ase" / "real-mda-output-16.0sp04pl03-tpcc.txt"
    if not file.exists():
        pytest.skip("no ../shared/ase")
    taken = capture_of(file.read_text(encoding="utf-8", errors="replace"), "16.0 SP04 PL03")
    target = Target(name="pasted", host="pasted")
    config = Config(targets=(target,), auth={"default": Auth(user="pasted", password="")})
    checking = TargetCheck(
        config,
        target,
        load_catalogue()[0],
        everything=True,
        timeout=60,
        open_connection=Playback(taken).open,
    )
    report = checking.report()
    missing = {name for each in report.failures for name in each.collectors if NOT_RECORDED in each.message}
    assert [each for each in report.failures if NOT_RECORDED not in each.message] == []
    assert list(report.mismatches) == []
    assert report.executed - len(missing) > 5
    waits = rows(taken, "select WaitEventID, InstanceID, Waits, WaitTime")
    assert [215, 0, 2058226, 3919] in waits
    sums = [
        sum(int(str(row[i])) for row in rows(taken, "select SpinlockName, InstanceID, Grabs")) for i in (2, 3)
    ]
    assert min(sums) > 10_000_000
