"""pytest --no-new-skips: a test that is skipped for a reason that allowed_skips.yaml does not have fails.

For a run on a machine that has what the tests need, so that none of them is left out without anybody noticing.
"""

from collections.abc import Generator
from pathlib import Path

import pytest

from ase_exporter.assets import load_yaml

ALLOWED: dict[str, str] = load_yaml(Path(__file__).with_name("allowed_skips.yaml").read_text())
"""Start of the reason of a skip -> why that is no gap."""


def refuse(report: pytest.TestReport) -> None:
    """Make a failure of a skip for another reason. An expected failure stays one."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    assert isinstance(report.longrepr, tuple)
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not reason.startswith(tuple(ALLOWED)):
        report.outcome = "failed"
        report.longrepr = f"skipped, which tests/allowed_skips.yaml does not allow: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse(report)
    return report
