"""The entry point: bad input is one line on stderr and exit code 2, whatever command it is for."""

from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["prob"], "No such command 'prob'."),
        (["--nonsense"], "No such option: --nonsense"),
        (["probe", "--nonsense"], "probe: No such option: --nonsense"),
        (["probe", "--timeout=soon"], "probe: Invalid value for '--timeout': "),
        (["sysmon", "parse"], "sysmon parse: Missing argument "),
        (["changes", "--format=xml"], "changes: Invalid value for '--format': 'xml' is not one of 'table', "),
        (["serve", "--nonsense"], "serve: No such option: --nonsense"),
        (["probe", "--config.file=/none.yml"], "/none.yml: cannot be read: No such file or directory"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: list[str], expected: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"ase-exporter: {expected}")
    assert result.stderr.count("\n") == 1


def test_without_a_command_the_help_is_printed(run: Run) -> None:
    result = run()
    assert result.returncode == 2
    assert "serve" in result.stdout and "probe" in result.stdout


def test_an_exit_code_of_a_command_is_kept(run: Run, tmp_path: Path) -> None:
    assert run("catalogue", "validate", str(tmp_path)).returncode == 0
    assert run("annotate", "--run=x", "--url=http://127.0.0.1:9", "--", "/bin/false").returncode == 1
