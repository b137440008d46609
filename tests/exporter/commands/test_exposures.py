"""`check --deployment` says what is open, and nothing of what is closed."""

from pathlib import Path

from tests.exporter.commands.command_line import Run

from ase_exporter import config
from ase_exporter.commands.exposures import exposures
from ase_exporter.commands.serving import ServeOptions

HASH = "$2y$10$" + "a" * 53
OPEN = """\
auth: {default: {user: sa, password_file: FOLDER/password}}
targets: [{name: A, host: db.example, sysmon: {auth: default}}]
probe_allowlist: {addresses: [{address: "*.db.example:5000"}]}
changes: {grafana: {url: "http://grafana.example", token_file: FOLDER/password}}
"""
CLOSED = """\
auth: {default: {user: monitor, password_file: FOLDER/password}}
targets: [{name: A, host: db.example, encrypt_password: true}]
probe_allowlist: {addresses: [{address: "192.0.2.0/28:5000"}]}
changes: {grafana: {url: "https://grafana.example", token_file: FOLDER/password}}
"""
SAYS = (
    *(
        "may do everything",
        "plain text: set encrypt_password",
        "sysmon's login",
        "controls names",
        "use https",
    ),
    *(
        "plain HTTP",
        "answers everybody",
        "enable-lifecycle",
        "enable-annotations",
        "probe_allowlist lets everybody",
    ),
    *("mode 644, open to others: chmod 600", "mode 755, open to others: chmod 700"),
)


def deployed(folder: Path, settings: str, *, is_open: bool) -> list[str]:
    """What is open of a configuration and of an exporter that runs with it."""
    (folder / "password").write_text("planted")
    (folder / "exporter.yaml").write_text(settings.replace("FOLDER", str(folder)))
    (folder / "web.yaml").write_text(f"basic_auth_users: {{prometheus: {HASH}}}")
    (folder / "state").mkdir()
    for name, modes in {"password": (0o600, 0o644), "state": (0o700, 0o755)}.items():
        (folder / name).chmod(modes[is_open])
    options = ServeOptions(
        config_file=folder / "exporter.yaml",
        listen_address=":10150" if is_open else "127.0.0.1:10150",
        web_config_file=None if is_open else folder / "web.yaml",
        lifecycle=is_open,
        annotations=True,
        state_directory=folder / "state",
        log_format="text",
        log_level="info",
    )
    for number, line in {"7": ["python", "-m", "ase_exporter", *options.arguments()], "8": ["sh"]}.items():
        (folder / "proc" / number).mkdir(parents=True)
        (folder / "proc" / number / "cmdline").write_text("\0".join(line))
    file = folder / "exporter.yaml"
    found = list(exposures(config.load(file), file, folder / "proc"))
    return [line for line in found if "runs as root" not in line]


def test_what_is_open_is_said_in_one_line_each(tmp_path: Path) -> None:
    found = deployed(tmp_path, OPEN, is_open=True)
    assert [says for says in SAYS if not any(says in line for line in found)] == []
    assert all("\n" not in line and "planted" not in line for line in found)


def test_what_is_closed_is_not_said(tmp_path: Path) -> None:
    assert deployed(tmp_path, CLOSED, is_open=False) == []


def test_the_exit_code_is_that_of_check(run: Run, tmp_path: Path) -> None:
    (tmp_path / "exporter.yaml").write_text("auth: {default: {user: sa, password: planted}}\ntargets: []\n")
    ended = run("check", "--deployment", "--config.file", str(tmp_path / "exporter.yaml"))
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "the login sa may do everything" in ended.stdout and "planted" not in ended.stdout
