"""What each command reads: a server, an exporter or a Prometheus, by default those of the configuration."""

from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.ports import free_block

from ase_exporter.commands.app import COMMANDS

# What a command asks, in this order; the first one that does not answer ends it.
READS = {
    "top --once": ["server"],
    "check": ["server"],
    "advise --seconds 1": ["server"],
    "capture --scrapes 1 --output {folder}/mine.capture.gz": ["server"],
    "hugepages": ["server"],
    "sysmon run --seconds 1": ["server"],
    "changes": ["exporter"],
    "annotate text": ["exporter"],
    "compare --around text": ["exporter", "prometheus"],
    "compare --before 3h..2h --after 1h..now": ["exporter", "prometheus"],
    "report": ["prometheus"],
}
# What they are given with.
OPTIONS = {"server": "-S", "exporter": "--url", "prometheus": "--prometheus"}
# mcp asks when an assistant does: test_tools.py.
READ_NOTHING = {"serve", "setup", "write", "mcp"}


def test_every_command_is_one_of_these() -> None:
    assert {line.split()[0] for line in READS} | READ_NOTHING == COMMANDS.keys()


@pytest.mark.parametrize("line", READS)
def test_a_command_reads_what_the_configuration_names_unless_it_is_given(
    run: Run, line: str, tmp_path: Path
) -> None:
    port = free_block(6)
    configured = {name: f"127.0.0.1:{port + place}" for place, name in enumerate(OPTIONS)}
    given = {name: f"127.0.0.1:{port + 3 + place}" for place, name in enumerate(OPTIONS)}
    (tmp_path / "exporter.yaml").write_text(
        f"targets: [{{name: ASE1, host: 127.0.0.1, port: {port}}}]\n"
        "auth: {default: {user: monitor, password: guarded}}\n"
        f"exporter: http://{configured['exporter']}\nprometheus: http://{configured['prometheus']}\n"
    )
    command = (*line.format(folder=tmp_path).split(), f"--config.file={tmp_path}/exporter.yaml")
    first = READS[line][0]
    asked = run(*command)
    assert asked.returncode == 2
    assert f"{configured[first]}" in asked.stderr.splitlines()[-1], asked.stderr
    for name in READS[line] if first != "server" else ():
        assert f"ase-exporter: {name}: http://{configured[name]}\n" in asked.stderr
    own = f"http://{given[first]}" if first != "server" else given[first]
    asked = run(*command, OPTIONS[first], own, ASE_USER="monitor", ASE_PASSWORD="guarded")
    assert asked.returncode == 2
    assert given[first] in asked.stderr.splitlines()[-1], asked.stderr
