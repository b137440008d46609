"""docs/sysmon.md shows every command."""

from tests.paths import DOCS

from ase_exporter.commands.sysmon import app

TEXT = (DOCS / "sysmon.md").read_text()


def test_every_command_is_shown() -> None:
    for command in app.registered_commands:
        assert f"ase-exporter sysmon {command.name} " in TEXT
