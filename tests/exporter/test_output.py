"""A terminal, pipe or disk that takes no output: one line, and an exit code other than 0."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("command", "output"),
    [("--help", ">/dev/full"), ("--version", ">&-"), ("catalogue metrics", ">/dev/full")],
)
def test_output_that_cannot_be_written_is_one_line(command: str, output: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f'"$@" {output}', "sh", sys.executable, "-m", "ase_exporter", *command.split()],
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode != 0
    assert ended.stderr.startswith("ase-exporter: ")
    assert ended.stderr.count("\n") == 1


def test_without_output_and_errors_there_is_an_exit_code_all_the_same() -> None:
    command = [sys.executable, "-m", "ase_exporter", "--version"]
    ended = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *command], timeout=120, check=False)
    assert ended.returncode != 0


def test_a_reader_that_leaves_gets_no_traceback() -> None:
    # As with `| head -1`.
    command = f'"{sys.executable}" -m ase_exporter --help | true'
    ended = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert ended.stderr == ""
