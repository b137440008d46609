"""The entry point."""

import sys

import pytest

from ase_exporter import cli
from ase_exporter.errors import UserError


def test_escape_sequences_in_an_error_do_not_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ase-exporter", "check", "--config.file", "no\x1b[2J\nfile"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error == "ase-exporter: no\\x1b[2J\\nfile: cannot be read: No such file or directory\n"


def test_another_system_than_linux_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ase-exporter", "top"])
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "ase-exporter: it needs Linux and its /proc, not darwin: use a virtual machine or a container\n"
    )


def test_each_of_several_problems_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> int:
        raise UserError("PROD1: no\x1b[2J\nhost", "PROD2: no such host")

    monkeypatch.setattr("ase_exporter.commands.app.run", run)
    monkeypatch.setattr(sys, "argv", ["ase-exporter", "check"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "ase-exporter: PROD1: no\\x1b[2J\\nhost\nase-exporter: PROD2: no such host\n"
    )
