"""The unit tier, `pytest --unit`: tests that need no program or library beyond the pinned Python packages.

Left out are tests that need Debian packages (FreeTDS, Prometheus, PostgreSQL...), start processes or take long. pyodbc
cannot be imported without unixODBC, so these tests get a stand-in that cannot connect, on every machine.
"""

import sys
from pathlib import Path
from types import ModuleType

from tests.paths import REPOSITORY

TESTS = REPOSITORY / "tests"
# Directories and files below TESTS.
LEFT_OUT = (
    "alerts",
    "benchmarks",
    "conformance",
    "dashboards",
    "deploy",
    "e2e",
    "faults",
    "exporter/advise/test_vldb.py",
    "exporter/analysis",
    "exporter/ase/test_bulk_fetch.py",
    "exporter/ase/test_connection.py",
    "exporter/ase/test_resolver.py",
    "exporter/capture/test_captures.py",
    "exporter/capture/test_command.py",
    "exporter/capture/test_round_trip.py",
    "exporter/catalogue/test_differences.py",
    "exporter/catalogue/test_gaps.py",
    "exporter/catalogue/test_profiles.py",
    "exporter/catalogue/test_truth.py",
    "exporter/changes/test_damaged_history.py",
    "exporter/changes/test_detect.py",
    "exporter/changes/test_exactly_once.py",
    "exporter/changes/test_on_the_kernel.py",
    "exporter/changes/test_on_the_simulator.py",
    "exporter/commands/test_annotate.py",
    "exporter/commands/test_check.py",
    "exporter/commands/test_common_mistakes.py",
    "exporter/commands/test_mcp.py",
    "exporter/commands/test_probe.py",
    "exporter/commands/test_statement_syntax.py",
    "exporter/commands/test_top.py",
    "exporter/compare/test_comparison.py",
    "exporter/compare/test_near_the_change.py",
    "exporter/compare/test_verdicts.py",
    "exporter/config/test_configuration_page.py",
    "exporter/host/test_ase_memory.py",
    "exporter/host/test_case_study.py",
    "exporter/host/test_perf.py",
    "exporter/host/test_real_kernel.py",
    "exporter/host/test_real_postgres.py",
    "exporter/mcp_server/test_malformed.py",
    "exporter/mcp_server/test_session.py",
    "exporter/mcp_server/test_tools.py",
    "exporter/report/test_report.py",
    "exporter/report/test_week.py",
    "exporter/scraping",
    "exporter/sysmon/test_mutations.py",
    "exporter/sysmon/test_printed.py",
    "exporter/test_output.py",
    "exporter/top/test_app.py",
    "exporter/top/test_faults.py",
    "exporter/top/test_pictures.py",
    "exporter/top/test_recording.py",
    "exporter/top/test_scenarios.py",
    "exporter/web",
    "exporter/workers",
    "simulator/model/test_actions.py",
    "simulator/model/test_events.py",
    "simulator/sql/test_profiles.py",
    "simulator/tds/test_fuzz.py",
    "simulator/tds/test_pyodbc.py",
    "simulator/test_cli.py",
)


def is_left_out(path: Path) -> bool:
    """Whether a file or directory is on the list."""
    return any(path.is_relative_to(TESTS / name) for name in LEFT_OUT)


def install_pyodbc_stand_in() -> None:
    """Make the exporter's modules importable without unixODBC."""
    module = ModuleType("pyodbc", "Stand-in without a driver.")
    for name in ("Error", "InterfaceError", "OperationalError", "ProgrammingError", "DatabaseError"):
        setattr(module, name, type(name, (Exception,), {}))
    for name in ("Connection", "Cursor", "Row"):
        setattr(module, name, type(name, (), {}))
    module.drivers = list  # type: ignore[attr-defined]
    sys.modules["pyodbc"] = module
