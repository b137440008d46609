"""The entry point."""

import sys

import pytest

from ase_exporter import cli


def test_escape_sequences_in_an_error_do_not_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ase-exporter", "check", "--config.file", "no\x1b[2J\nfile"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error == "ase-exporter: no\\x1b[2J\\nfile: cannot be read: No such file or directory\n"
