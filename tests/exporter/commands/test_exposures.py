"""`check --deployment` says what is open, and nothing of what is closed."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from tests.exporter.commands.command_line import Run

from ase_exporter import config
from ase_exporter.commands.exposures import exposures
from ase_exporter.commands.serving import WORD, ServeOptions

HASH = "$2y$10$" + "a" * 53
OPEN = """\
auth: {default: {user: sa, password_file: FOLDER/password}}
targets: [{name: A, host: db.example, sysmon: {auth: default}}]
changes: {grafana: {url: "http://grafana.example", token_file: FOLDER/password}}
"""
CLOSED = """\
auth: {default: {user: monitor, password_file: FOLDER/password}}
targets: [{name: A, host: db.example, encrypt_password: true}]
changes: {grafana: {url: "https://grafana.example", token_file: FOLDER/password}}
"""
SAYS = (
    *(
        "may do everything",
        "plain text: set encrypt_password",
        "sysmon's login",
        "use https",
    ),
    *(
        "plain HTTP",
        "answers everybody",
        "enable-lifecycle",
        "enable-annotations",
    ),
    *("mode 644, open to others: chmod 600", "mode 755, open to others: chmod 700"),
    *("mode 666, open to others: chmod 644", "everybody may replace what is in", "which was not checked"),
    *("process 9: FOLDER/none.yaml: cannot be read",),
)


def deployed(folder: Path, settings: str, *, is_open: bool) -> list[str]:
    """What is open of a configuration and of an exporter that runs with it."""
    (folder / "password").write_text("planted")
    (folder / "exporter.yaml").write_text(settings.replace("FOLDER", str(folder)))
    (folder / "web.yaml").write_text(f"basic_auth_users: {{prometheus: {HASH}}}")
    (folder / "state").mkdir()
    modes = {"password": (0o600, 0o644), "state": (0o700, 0o755), "exporter.yaml": (0o644, 0o666)}
    for name, of_name in {**modes, ".": (0o755, 0o777), "web.yaml": (0o644, 0o644)}.items():
        (folder / name).chmod(of_name[is_open])
    options = ServeOptions(
        config_file=Path("exporter.yaml"),
        listen_address=":10150" if is_open else "127.0.0.1:10150",
        web_config_file=None if is_open else Path("web.yaml"),
        lifecycle=is_open,
        annotations=True,
        state_directory=Path("state"),
        log_format="text",
        log_level="info",
    )
    other = replace(options, config_file=Path("b.yaml"), web_config_file=Path("none.yaml"))
    wrong = [{}, {**asdict(options), "listen_address": 5}, {**asdict(options), "config_file": [1]}]
    lines = {"7": options.arguments(), "8": ["sh"], "9": other.arguments() if is_open else ["sh"]}
    # Command lines of others, who may write anything there.
    lines |= {str(number): [WORD, json.dumps(each, default=str)] for number, each in enumerate(wrong, 10)}
    for number, line in {**lines, "20": [WORD, "[" * 100_000], "21": [WORD]}.items():
        (folder / "proc" / number).mkdir(parents=True)
        (folder / "proc" / number / "cmdline").write_text("\0".join(["python", "-m", "ase_exporter", *line]))
        (folder / "proc" / number / "cwd").symlink_to(folder)
    file = folder / "exporter.yaml"
    found = list(exposures(config.load(file), file, folder / "proc"))
    return [line for line in found if "runs as root" not in line]


def test_what_is_open_is_said_in_one_line_each(tmp_path: Path) -> None:
    found = deployed(tmp_path, OPEN, is_open=True)
    expected = [each.replace("FOLDER", str(tmp_path)) for each in SAYS]
    assert [says for says in expected if not any(says in line for line in found)] == []
    assert all("\n" not in line and "planted" not in line for line in found)


def test_what_is_closed_is_not_said(tmp_path: Path) -> None:
    assert deployed(tmp_path, CLOSED, is_open=False) == []


def test_the_exit_code_is_that_of_check(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "ase-exporter" / "exporter.yaml"
    file.parent.mkdir()
    file.write_text("auth: {default: {user: sa, password: planted}}\ntargets: []\n")
    file.chmod(0o644)
    given = run("check", "--deployment", "--config.file", str(file))
    found = run("check", "--deployment", XDG_CONFIG_HOME=str(tmp_path))
    for ended in (given, found):
        assert ended.returncode == 1 and "planted" not in ended.stdout + ended.stderr
        assert "the login sa may do everything" in ended.stdout
        assert f"which holds a password: {file} has mode 644" in ended.stdout
