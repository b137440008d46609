"""A configuration of version 0.1.0-dev gets one line for each renamed key: file, line, key, new key."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ase_exporter import config
from ase_exporter.config.renamed import RENAMED_KEYS
from ase_exporter.errors import UserError

GOOD = """\
auth: {default: {user: probe, password_env: X}}
targets: [{name: A, host: h, sysmon: {auth: default}}]
changes: {grafana: {url: http://host, token_file: /token}}
"""


def with_key(path: str) -> str:
    """A configuration, in block style, that holds an otherwise valid key at that path."""
    data = yaml.safe_load(GOOD)
    here = data
    *parents, name = path.replace("[]", ".0").split(".")
    for part in parents:
        here = here[int(part)] if part.isdigit() else here.setdefault(part, {})
    here[name] = {} if path == "allow" else 1
    return yaml.safe_dump(data, default_flow_style=False)


@pytest.mark.parametrize(("path", "new"), RENAMED_KEYS.items())
def test_an_old_key_is_answered_with_the_new_one(tmp_path: Path, path: str, new: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(with_key(path), encoding="utf-8")
    name = path.rpartition(".")[2]
    line = next(
        n for n, text in enumerate(file.read_text().splitlines(), 1) if text.strip().startswith(f"{name}:")
    )
    with pytest.raises(UserError) as error:
        config.load(file)
    shown = path.replace("[]", ".0")
    assert str(error.value) == f"{file}:{line}: {shown}: this key was renamed; expected {new}"


@pytest.mark.parametrize("path", RENAMED_KEYS)
def test_the_old_key_is_all_that_is_wrong_with_it(tmp_path: Path, path: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(GOOD, encoding="utf-8")
    assert config.load(file).targets[0].sysmon
    assert path.rpartition(".")[2] in with_key(path)


def test_an_old_key_comes_before_other_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("scrape: {timeout: soon, typo: 1, recheck: 5m}\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"scrape\.recheck: .* recheck_interval; also .*typo: .*; also .*timeout: "
    ):
        config.load(file)


def test_the_command_says_it_in_one_line_and_exits_with_2(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("allow: {addresses: []}\n", encoding="utf-8")
    command = [sys.executable, "-m", "ase_exporter", "serve", "--config.file", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = f"ase-exporter: {file}:1: allow: this key was renamed; expected probe_allowlist\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", expected)
