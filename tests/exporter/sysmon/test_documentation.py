"""docs/sysmon.md names every metric with its labels, and every command."""

import re

from tests.exporter.sysmon import samples
from tests.paths import DOCS

from ase_exporter.commands.sysmon import app
from ase_exporter.metrics.families import Family
from ase_exporter.sysmon.headlines import HEADLINES
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.report import parse

TEXT = (DOCS / "sysmon.md").read_text()
ROW = re.compile(r"^\| `(ase_sysmon_\w+)` \|([\w, ]*)\|", re.MULTILINE)
OF_THE_SCHEDULE = {"ase_sysmon_runs_total": ("outcome",), "ase_sysmon_last_run_success": ()}


def test_every_metric_is_described_with_its_labels() -> None:
    described = {
        name: tuple(label.strip() for label in labels.split(",") if label.strip())
        for name, labels in ROW.findall(TEXT)
    }
    found: list[Family] = families(parse(samples.report(samples.TRANSACTIONS)), ("all",))
    known = {headline.name: headline.labels for headline in HEADLINES}
    known |= {family.name: family.labels for family in found} | OF_THE_SCHEDULE
    assert described == known


def test_every_command_is_shown() -> None:
    for command in app.registered_commands:
        assert f"ase-exporter sysmon {command.name} " in TEXT
