"""docs/sysmon.md shows every command."""

from tests.paths import DOCS

from ase_exporter.commands.app import COMMANDS

TEXT = (DOCS / "sysmon.md").read_text()


def test_every_command_is_shown() -> None:
    for name in COMMANDS["sysmon"].commands:
        assert f"ase-exporter sysmon {name} " in TEXT
