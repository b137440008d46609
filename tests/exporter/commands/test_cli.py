"""The entry point: bad input is one line on stderr and exit code 2, whatever command it is for."""

import os
import shlex
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run

# Command line -> what the error says.
MISTAKES = {
    "prob": "No such command 'prob'.",
    "--nonsense": "No such option: --nonsense",
    "probe --nonsense": "probe: No such option: --nonsense",
    "probe --timeout=soon": "probe: Invalid value for '--timeout': ",
    "probe --config.file=/none.yml": "/none.yml: cannot be read: No such file or directory",
    "serve --nonsense": "serve: No such option: --nonsense",
    # Abbreviations are not taken, so that a new option cannot break a unit file.
    "serve --config=x": "serve: No such option: --config (Possible options: --config.file, ",
    "serve --web.listen-address= a": "serve: Got unexpected extra argument",
    "serve --config.file=/none.yml": "/none.yml: cannot be read: No such file or directory",
    "serve --web.config.file=/none.yml": "/none.yml: cannot be read: No such file or directory",
    "serve --web.listen-address=here": "--web.listen-address: 'here': expected HOST:PORT",
    "_serve": "_serve: expected the options that `ase-exporter serve` passes on",
    "_serve {}": "_serve: expected the options that `ase-exporter serve` passes on",
    "_serve []": "_serve: expected the options that `ase-exporter serve` passes on",
    "_serve x": "_serve: expected the options that `ase-exporter serve` passes on",
    """_serve '{"config_file": 1}'""": "_serve: expected the options that `ase-exporter serve` passes on",
    "serve --log.level=loud": "serve: Invalid value for '--log.level': 'loud' is not one of 'debug', ",
    "top --once --interval 0.5s": "--interval: 0.5 s: expected 1 s to 60 s",
    "top --once --interval 2m": "--interval: 120 s: expected 1 s to 60 s",
    "top --once --interval often": "--interval: 'often': expected a duration",
    "top --once": "no target: give -S SERVER and -U LOGIN",
    "annotate": "annotate: expected one TEXT",
    "annotate two words": "put it in quotes",
    "annotate '  '": "a text that is not blank",
    "annotate --run x": "expected a command after --",
    "annotate text --failed x": "expected --finish",
    "annotate text --tag maintenance": "expected --start or --run",
    "annotate text --finish 0123456789abcdef": "--finish takes no text",
    "annotate text --grafana-url http://127.0.0.1:9": "expected --grafana-token-file",
    "annotate text --grafana-url ftp://x --grafana-token-file x": "expected an http",
    "changes --format=xml": "changes: Invalid value for '--format': 'xml' is not one of 'table', ",
    "changes --since=yesterday": "since: 'yesterday'",
    "changes --state-dir=/nonexistent": "no changes.db in it",
    "changes --kind=typo": "kind: 'typo': expected one of annotation, binding, cache, ",
    "mcp": "mcp: Missing option '--prometheus'",
    "mcp --prometheus here": "--prometheus: 'here': expected a URL such as http://127.0.0.1:9090",
    "mcp --prometheus ftp://a:planted-in-address@b": "--prometheus: 'ftp://b': expected a URL",
    "mcp --prometheus http://127.0.0.1:1 --sysmon-dir /nowhere": "--sysmon-dir: /nowhere: expected a directory",
    "report --prometheus ftp://x --target ASE1": "expected a URL such as http://127.0.0.1:9090",
    "sysmon parse": "sysmon parse: Missing argument ",
    "sysmon parse nowhere.txt": "nowhere.txt: cannot be read: No such file or directory",
    "sysmon parse nowhere.txt --cells lock": "section 'lock': expected all or one of kernel, ",
    "sysmon history nowhere.txt --label PROD": "--label: PROD: expected NAME=VALUE",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ASE_")]:
        monkeypatch.delenv(name)
    result = run(*shlex.split(line))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("ase-exporter: ") and MISTAKES[line] in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_a_command_the_help_is_printed(run: Run) -> None:
    result = run()
    assert result.returncode == 2
    assert "serve" in result.stdout and "probe" in result.stdout


def test_an_exit_code_of_a_command_is_kept(run: Run, tmp_path: Path) -> None:
    assert run("catalogue", "validate", str(tmp_path)).returncode == 0
    assert run("annotate", "--run=x", "--url=http://127.0.0.1:9", "--", "/bin/false").returncode == 1
