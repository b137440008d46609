"""A skip for a reason that nobody allowed is a failure, in a run that asks for it."""

import pytest
from tests import skips
from tests.paths import REPOSITORY


def skipped(reason: str, **more: object) -> pytest.TestReport:
    """A report as pytest makes it of pytest.skip(reason) and of skipif."""
    where = ("tests/test_one.py", 1, "test_one")
    report = pytest.TestReport(
        "test_one", where, {}, "skipped", ("test_one.py", 1, f"Skipped: {reason}"), "call"
    )
    vars(report).update(more)
    skips.refuse(report)
    return report


def test_a_skip_for_another_reason_fails() -> None:
    report = skipped("no npm to get @grafana/schema with")
    assert report.outcome == "failed"
    assert str(report.longrepr).endswith(": no npm to get @grafana/schema with")


def test_a_skip_for_an_allowed_reason_and_an_expected_failure_stay() -> None:
    for reason in skips.ALLOWED:
        assert skipped(f"{reason}, and more of the reason").outcome == "skipped"
    assert skipped("", wasxfail="known").outcome == "skipped"


def test_every_allowed_reason_is_one_of_the_tests() -> None:
    texts = [path.read_text() for path in (REPOSITORY / "tests").rglob("*.py")]
    cannot_be_written = " cannot be written here"
    for reason in skips.ALLOWED:
        written = cannot_be_written if reason.endswith(cannot_be_written) else reason
        assert any(written in text for text in texts), reason
