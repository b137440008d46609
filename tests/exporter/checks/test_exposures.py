"""`check` says what files and logins are open, `serve` what its endpoints are; neither what is closed."""

from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.running_exporter import exporter

from ase_exporter import config
from ase_exporter.checks.exposures import open_files_and_logins
from ase_exporter.config.web import TlsServer, WebSettings
from ase_exporter.web.write_access import WriteAccess, open_endpoints

USERS = {"prometheus": "$2y$10$" + "a" * 53}
OPEN = """\
auth: {default: {user: sa, password_file: FOLDER/password}}
targets: [{name: A, host: db.example, sysmon: {auth: default}}, {name: B, host: db.example}]
changes: {grafana: {url: "http://grafana.example", token_file: FOLDER/password}}
"""
CLOSED = """\
auth: {default: {user: monitor, password_file: FOLDER/password}}
targets: [{name: A, host: db.example, encrypt_password: true}, {name: B, host: "::1"}]
changes: {grafana: {url: "https://grafana.example", token_file: FOLDER/password}}
"""


def found(folder: Path, settings: str, modes: tuple[int, int]) -> list[str]:
    """What is open of a configuration. modes: of its file, and of its password file."""
    file, password = folder / "exporter.yaml", folder / "password"
    password.write_text("planted")
    file.write_text(settings.replace("FOLDER", str(folder)))
    for path, mode in zip((file, password), modes, strict=True):
        path.chmod(mode)
    lines = list(open_files_and_logins(config.load(file), file))
    assert not any("\n" in line or "planted" in line for line in lines)
    return [line.replace(f"{folder}/", "") for line in lines]


def test_open_files_and_logins_are_one_line_each(tmp_path: Path) -> None:
    assert found(tmp_path, OPEN, (0o666, 0o644)) == [
        "the configuration: exporter.yaml has mode 666, open to others: chmod 644",
        "auth.default.password_file: password has mode 644, open to others: chmod 640",
        "auth.default: the login sa may do everything: use one with mon_role alone (create_login.sql)",
        "passwords cross the network in plain text: set encrypt_password for A, B",
        "target A: sysmon's login, which has sa_role, scrapes as well: give it its own auth",
        "changes.grafana.token_file: password has mode 644, open to others: chmod 640",
        "changes.grafana.url: the token crosses the network in plain text: use https",
    ]


def test_a_configuration_that_holds_a_password_is_for_its_owner(tmp_path: Path) -> None:
    (line,) = found(tmp_path, "auth: {default: {user: monitor, password: planted}}", (0o644, 0o600))
    assert line.startswith("the configuration: exporter.yaml has mode 644")


def test_what_is_closed_is_not_said(tmp_path: Path) -> None:
    assert found(tmp_path, CLOSED, (0o644, 0o640)) == []


CERTIFIED = TlsServer(
    cert_file=Path("c"),
    key_file=Path("k"),
    client_ca_file=Path("a"),
    client_auth_type="RequireAndVerifyClientCert",
)


@pytest.mark.parametrize(
    ("address", "settings", "access", "expected"),
    [
        ("127.0.0.1:10150", WebSettings(), WriteAccess(), []),
        ("[::1]:10150", WebSettings(), WriteAccess(), []),
        (":10150", WebSettings(tls_server_config=CERTIFIED), WriteAccess(lifecycle=True), []),
        (
            ":1",
            WebSettings(),
            WriteAccess(),
            [":1 is open to the network: set tls_server_config and basic_auth_users"],
        ),
        (
            "0.0.0.0:1",
            WebSettings(basic_auth_users=USERS),
            WriteAccess(),
            ["0.0.0.0:1 is open to the network: set tls"],
        ),
        (
            "localhost:1",
            WebSettings(),
            WriteAccess(annotations=True),
            ["--web.enable-annotations: for every"],
        ),
        ("localhost:1", WebSettings(basic_auth_users=USERS), WriteAccess(annotations=True), []),
    ],
)
def test_open_endpoints_are_named(
    address: str, settings: WebSettings, access: WriteAccess, expected: list[str]
) -> None:
    lines = list(open_endpoints(address, settings, access))
    assert len(lines) == len(expected)
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True)), lines


def test_check_lists_them_and_serve_warns(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "exporter.yaml"
    file.write_text("auth: {default: {user: sa, password: planted}}\n")
    file.chmod(0o644)
    shown = run("check", "--offline", "--config.file", str(file))
    assert shown.returncode == 0
    assert "the login sa may do everything" in shown.stdout and "planted" not in shown.stdout
    with exporter(tmp_path, "{}", ["--web.enable-annotations"]) as running:
        assert running.url
        assert "--web.enable-annotations: for everybody who reaches" in running.log
