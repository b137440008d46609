"""`ase-exporter mcp` says in one line what is wrong with its options, and what to install."""

import subprocess
import sys

OPTIONS = ["mcp", "--prometheus", "http://127.0.0.1:1"]


def command(code: str = "") -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, with nothing to read. code: run before."""
    start = f"import sys; {code}; sys.argv = ['ase-exporter', *{OPTIONS}]; from ase_exporter.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_without_the_sdk_it_says_what_to_install() -> None:
    done = command("sys.modules['mcp'] = None")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "ase-exporter: mcp needs its SDK, which is not installed:"
        f" {sys.executable} -m pip install 'ase-exporter[mcp]'\n"
    )


def test_it_ends_with_its_input() -> None:
    done = command("pass")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
