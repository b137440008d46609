"""Configuration: what is accepted, and that each mistake gets one line with its place."""

from pathlib import Path

import pytest

from ase_exporter import config
from ase_exporter.errors import UserError


@pytest.mark.parametrize("text", ["", "\n", "# a comment\n", "---\n", "---\n...\n", "null\n"])
def test_an_empty_file_is_an_error(tmp_path: Path, text: str) -> None:
    # A file that is being written, or whose template failed, must not switch all targets off at a reload.
    file = tmp_path / "exporter.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"exporter\.yml: the file is empty"):
        config.load(file)


NO_TEXTS = "NO no on Yes true 0123 1.0e+3 0x1F 12_3 3.5 2024-01-01 ~ [a] {}"


@pytest.mark.parametrize("value", ["", *NO_TEXTS.split()])
@pytest.mark.parametrize("setting", ["name", "host", "charset"])
def test_what_yaml_reads_as_something_else_is_to_be_quoted(tmp_path: Path, setting: str, value: str) -> None:
    file = tmp_path / "exporter.yaml"
    fields = {"name": "A", "host": "h", "charset": "UTF-8", setting: value}
    file.write_text("targets:\n- " + "\n  ".join(f"{key}: {text}" for key, text in fields.items()) + "\n")
    with pytest.raises(UserError, match=rf"targets\.0\.{setting}: expected text; put quotes around"):
        config.load(file)


@pytest.mark.parametrize("ends", ["", "\n", "\r\n", "\r", "\n\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_and_line_ends_are_no_part_of_a_password(tmp_path: Path, encoding: str, ends: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(f' pa;s{{w}}ö=r\t#d"x {ends}'.encode(encoding))
    assert config.Auth(user="probe", password_file=file).read_password() == ' pa;s{w}ö=r\t#d"x '


@pytest.mark.parametrize(
    "content",
    [b"# of PROD1\nsecret\n", b"\nsecret", b"secret\r\n\x1a", "secret".encode("utf-16-le"), b"\x1f\x8b\x08"],
)
def test_what_can_be_no_password_is_not_tried(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "password").write_bytes(content)
    with pytest.raises(UserError, match="expected a password on one line, and nothing else"):
        config.Auth(user="probe", password_file=tmp_path / "password").read_password()


def test_the_password_is_read_at_each_login_so_that_it_may_be_rotated(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    auth = config.Auth(user="probe", password_file=file)
    with pytest.raises(UserError, match="secret: No such file"):
        auth.read_password()
    file.write_text("first\n", encoding="utf-8")
    assert auth.read_password() == "first"
    file.write_text("second", encoding="utf-8")
    assert auth.read_password() == "second"


def test_one_target_comes_from_the_environment() -> None:
    loaded = config.from_environment(
        {"ASE_HOST": "db1", "ASE_PORT": "4901", "ASE_USER": "probe", "ASE_PASSWORD_FILE": "/run/secret"}
    )
    (target,) = loaded.targets
    assert (target.name, target.host, target.port) == ("db1", "db1", 4901)
    assert loaded.auth["default"].password_file == Path("/run/secret")
