"""`ase-exporter top` for scripts: --once, pipes, and what it says about bad input."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.running_exporter import configuration
from tests.exporter.simulated import Simulated
from tests.ports import free_block

ESCAPE = "\x1b"


@pytest.fixture
def config(server: Simulated, tmp_path: Path) -> str:
    return written(tmp_path, ONE=server.address[1])


def written(directory: Path, **ports: int) -> str:
    """A configuration with these targets."""
    file = directory / "exporter.yml"
    addresses = {name: ("127.0.0.1", port) for name, port in ports.items()}
    file.write_text(configuration(addresses, changes={}))
    return str(file)


def test_a_pipe_gets_one_server_in_full_and_no_colours(run: Run, config: str) -> None:
    # Output to a pipe is as with --once.
    ended = run("top", "--config.file", config, "--interval", "2s", FORCE_COLOR="", TERM="xterm")
    assert ended.returncode == 0, ended.stderr
    assert ESCAPE not in ended.stdout
    title, verdict, *_ = ended.stdout.splitlines()
    assert title.startswith("ONE  ASE 16.0 SP04") and verdict.startswith(("WORKS: ", "IDLE: "))
    for heading in ("Spinlocks", "Caches", "Waits", "Sessions", "Blocking", "Devices", "Space", "Changes"):
        assert re.search(rf"^{heading}\b", ended.stdout, re.MULTILINE), heading


def test_too_little_read_is_said_first_and_an_exit_code(run: Run, config: str) -> None:
    Path(config).write_text(Path(config).read_text().replace('"monitor"', '"nobody"'))
    for command in ("top", "--once", "--interval", "1s"), ("advise", "--seconds", "1s"):
        ended = run(*command, "--config.file", config)
        assert ended.returncode == 1, ended.stderr
        assert [line[:9] for line in ended.stdout.splitlines()[:2] if ":" in line][-1] == "NOT KNOWN"
        assert "mon_role" in ended.stdout and "no_role" not in ended.stdout


def test_a_server_that_fails_is_a_line_and_an_error_at_the_end_and_of_several_one_is_chosen(
    run: Run, server: Simulated, tmp_path: Path
) -> None:
    config = written(tmp_path, GOOD=server.address[1], GONE=free_block(1))
    ended = run("top", "--config.file", config, "--target", "GONE", "--once", "--interval", "1")
    assert ended.returncode == 2
    title, verdict = ended.stdout.splitlines()
    assert title.startswith("GONE ") and verdict.startswith("DOWN: 127.0.0.1:")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("ase-exporter: target GONE: 127.0.0.1:")
    several = run("top", "--config.file", config, "--once")
    assert (several.returncode, several.stderr) == (2, "ase-exporter: -S: expected one of GOOD, GONE\n")


def test_the_screen_needs_textual_and_scripts_do_not(
    run: Run, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setattr("ase_exporter.commands.top.sys.stdout.isatty", lambda: True, raising=False)
    ended = run("top", "--config.file", config)
    assert ended.returncode == 2
    assert ended.stderr == (
        "ase-exporter: top needs textual for its screen, which is not installed:"
        f" {sys.executable} -m pip install 'ase-exporter[top]' (--once needs nothing)\n"
    )
    # Whether that is long enough for a verdict hangs on the machine.
    once = run("top", "--config.file", config, "--once", "--interval", "1")
    assert "8 engines" in once.stdout and "Changes: No change" in once.stdout and not once.stderr


def test_a_terminal_that_cannot_move_its_cursor_is_told_what_to_use(config: str) -> None:
    ours, theirs = pty.openpty()
    ended = subprocess.run(
        [sys.executable, "-m", "ase_exporter", "top", "--config.file", config],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        env={"TERM": "dumb", "PATH": "/usr/bin:/bin"},
        check=False,
    )
    for each in (ours, theirs):
        os.close(each)
    assert ended.returncode == 2 and "not TERM=dumb; --once needs none" in ended.stderr
