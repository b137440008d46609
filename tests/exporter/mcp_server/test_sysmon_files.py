"""Only files below the directory of reports are read, whatever a path says and whatever lies there."""

import gzip
import os
from pathlib import Path

import pytest
from tests.exporter.sysmon.samples import HEADER, TRANSACTIONS, report

from ase_exporter.errors import UserError
from ase_exporter.mcp_server import sysmon_files
from ase_exporter.mcp_server.answers import SysmonAnswer
from ase_exporter.mcp_server.inputs import SysmonReport
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.sysmon_files import read_below, sysmon_report

TEXT = report(TRANSACTIONS)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A directory of reports, with a secret outside of it and with links that lead there."""
    directory = tmp_path / "reports"
    (directory / "PROD1").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text(TEXT)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text(TEXT)
    (directory / "monday.txt").write_text(TEXT)
    (directory / "PROD1" / "tuesday.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (directory / ".hidden").write_text(TEXT)
    (directory / "link.txt").symlink_to(tmp_path / "secret.txt")
    (directory / "folder").symlink_to(tmp_path / "elsewhere")
    (directory / "PROD1" / "up").symlink_to("..")
    return directory


def asked(directory: Path, path: str = "", against: str = "") -> SysmonAnswer:
    sources = Sources("http://127.0.0.1:1", reports=directory)
    return sysmon_report(sources, SysmonReport(path=path, against=against))


def test_files_are_listed_without_links(reports: Path) -> None:
    assert [file.path for file in asked(reports).files] == ["PROD1/tuesday.txt.gz", "monday.txt"]


@pytest.mark.parametrize(
    "path", ["monday.txt", "PROD1/tuesday.txt.gz", "./monday.txt", "PROD1//tuesday.txt.gz"]
)
def test_a_report_is_read(reports: Path, path: str) -> None:
    (found,) = asked(reports, path).reports
    assert (found.server, found.version) == ("PROD_DS", "16.0 SP03 PL02")
    assert [(each.name, each.value, each.unit) for each in found.headlines] == [
        ("Committed transactions", 1200.0, "/s")
    ]


OUTSIDE = """
../secret.txt PROD1/../../secret.txt PROD1/../monday.txt /etc/passwd //etc/passwd .. / .
link.txt folder/secret.txt PROD1/up/monday.txt PROD1 monday.txt/x none.txt ~/x
"""


@pytest.mark.parametrize("path", [*OUTSIDE.split(), "a\0b", "x" * 400, "monday.txt\n"])
def test_no_path_leads_elsewhere(reports: Path, path: str) -> None:
    with pytest.raises(UserError) as raised:
        asked(reports, path)
    assert str(raised.value).startswith("path: ")
    assert "\n" not in str(raised.value) and "PROD_DS" not in str(raised.value)


def test_a_directory_that_becomes_a_link_meanwhile_is_not_followed(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the check of a path and its opening is no time: each part is opened in the one before it."""
    opened = os.open

    def swap(path: object, flags: int, **options: object) -> int:
        if path == "tuesday.txt.gz":
            (reports / "PROD1").rename(reports / "old")
            (reports / "PROD1").symlink_to(reports.parent / "elsewhere")
        return opened(path, flags, **options)  # type: ignore[arg-type]

    (reports.parent / "elsewhere" / "tuesday.txt.gz").write_bytes(b"the secret")
    monkeypatch.setattr(os, "open", swap)
    assert b"the secret" not in read_below(reports, "PROD1/tuesday.txt.gz")


def test_a_pipe_or_a_device_is_not_waited_for(reports: Path) -> None:
    os.mkfifo(reports / "pipe")
    with pytest.raises(UserError, match="expected a file"):
        asked(reports, "pipe")


def test_large_files_and_packed_bombs_are_refused(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysmon_files, "MAX_FILE", 10_000)
    monkeypatch.setattr(sysmon_files, "MAX_TEXT", 100_000)
    (reports / "large").write_bytes(b" " * 10_001)
    (reports / "bomb").write_bytes(gzip.compress(b" " * 100_001))
    (reports / "twice").write_bytes(gzip.compress(gzip.compress(b" " * 99_000)))
    (reports / "damaged").write_bytes(gzip.compress(TEXT.encode())[:-20])
    for path, says in {
        "large": "at most 10,000 bytes",
        "bomb": "at most 100,000 bytes unpacked",
        "twice": "packed once",
        "damaged": "damaged gzip file",
    }.items():
        with pytest.raises(UserError, match=says):
            asked(reports, path)


def test_two_reports_are_compared(reports: Path) -> None:
    later = TRANSACTIONS.replace("1200.0", " 600.0").replace("72000", "36000")
    (reports / "later.txt").write_text(report(later, header=HEADER.replace("Nov 03", "Nov 04")))
    answer = asked(reports, "later.txt", "monday.txt")
    assert [each.path for each in answer.reports] == ["later.txt", "monday.txt"]
    assert any((each.before, each.after) == (1200.0, 600.0) for each in answer.differences)
    assert answer.findings == ["worse: Committed transactions 1,200 /s -> 600 /s"]


def test_a_long_history_is_bounded(reports: Path) -> None:
    (reports / "history.txt").write_text(
        "".join(report(TRANSACTIONS) for _ in range(sysmon_files.MAX_REPORTS + 1))
    )
    answer = asked(reports, "history.txt")
    assert len(answer.reports) == sysmon_files.MAX_REPORTS
    assert answer.notes == ["history.txt: only its first 5 reports are shown"]


def test_what_is_no_report_is_said_without_its_content(reports: Path) -> None:
    (reports / "passwords.txt").write_text("hunter2 " * 100)
    with pytest.raises(UserError, match="not an sp_sysmon report") as raised:
        asked(reports, "passwords.txt")
    assert "hunter2" not in str(raised.value)


def test_without_a_directory_it_says_which_option(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--sysmon-dir"):
        sysmon_report(Sources("http://127.0.0.1:1"), SysmonReport())


def test_many_files_are_bounded(tmp_path: Path) -> None:
    for number in range(sysmon_files.MAX_FILES + 50):
        (tmp_path / f"{number:04}.txt").touch()
    deep = tmp_path / "a/b/c/d/e/f"
    deep.mkdir(parents=True)
    (deep / "deep.txt").touch()
    answer = asked(tmp_path)
    assert len(answer.files) == sysmon_files.MAX_FILES
    assert answer.notes == ["more files are left out"]
