"""`setup` and the options of ASE's own programs (-S, -U, -P), against the simulator, with and without a terminal."""

import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.config.test_special_files import in_time
from tests.exporter.simulated import Simulated
from tests.exporter.simulated import run as simulated
from tests.programs import START

from ase_exporter import config
from ase_exporter.ase.database_error import DatabaseError
from ase_exporter.assets import load_yaml
from ase_exporter.commands import setup, top
from ase_exporter.commands.assets import rule_texts
from ase_exporter.config import Auth, Target
from ase_exporter.config.changes import VerdictConfig
from ase_exporter.errors import UserError

PASSWORD = "a new pass'word"


@pytest.fixture(scope="module")
def running() -> Iterator[Simulated]:
    with simulated("16.0 SP04", "quiet-oltp") as started:
        yield started


@pytest.fixture
def server(running: Simulated) -> Simulated:
    """A server that lacks one option."""
    with running.login("sa") as query:
        query("exec sp_configure 'enable spinlock monitoring', 0")
    return running


@pytest.fixture
def environment(server: Simulated, tmp_path: Path) -> dict[str, str]:
    """An interfaces file that names the server, files of passwords, and nothing of the machine's own configuration."""
    host, port = server.address
    (tmp_path / "interfaces").write_text(f"PROD1\n\tquery tcp ether {host} {port}\n")
    (tmp_path / "sa").write_text(server.password)
    (tmp_path / "own").write_text(PASSWORD)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"SYBASE": str(tmp_path), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}


# The command, with a shorter wait between the two samples of `top --once`.
SCRIPT = (
    "from ase_exporter import cli; from ase_exporter.commands import top; top.ONCE_INTERVAL = 3.0; cli.main()"
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", SCRIPT, *arguments]


def without_terminal(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it without a terminal, not even a controlling one."""
    return subprocess.run(
        command(*arguments),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
    )


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.shown = ""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, command(*arguments), environment)

    def wait_for(self, text: str) -> str:
        """Read until it shows the text again; what it showed since the last time."""
        seen = ""
        while text not in seen:
            assert select.select([self._terminal], [], [], START)[0], f"{text!r} did not come: {self.shown}"
            try:
                seen += (new := os.read(self._terminal, 65536).decode(errors="replace"))
            except OSError:
                raise AssertionError(f"it ended without {text!r}: {self.shown}") from None
            self.shown += new
        return seen

    def answer(self, question: str, text: str) -> None:
        self.wait_for(question)
        os.write(self._terminal, f"{text}\n".encode())

    def end(self) -> int:
        """Its exit code, once it has ended."""
        with suppress(OSError):
            while new := os.read(self._terminal, 65536):
                self.shown += new.decode(errors="replace")
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_from_nothing_to_top_without_a_terminal(
    run: Run,
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    closed_port: int,
) -> None:
    monkeypatch.setattr(top, "ONCE_INTERVAL", 3.0)
    # The rules for an interval take a second.
    monkeypatch.setattr(setup, "rule_texts", cache(rule_texts))
    out, prometheus = tmp_path / "out", f"http://127.0.0.1:{closed_port}"
    words = f"setup -S PROD1 --login-password-file {tmp_path}/own -o {out} --interval 30s"
    arguments = tuple(words.split())
    refused = run(*arguments, **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "exec sp_addlogin 'ase_exporter', 'CHANGE_ME', 'master'\ngo" in refused.stdout
    assert PASSWORD not in refused.stdout

    admin = ("--admin", "sa", "--admin-password-file", f"{tmp_path}/sa", "--yes")
    done = run(*arguments, *admin, "--prometheus", prometheus, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No metric is missing." in done.stdout
    assert "Time goes to:" in done.stdout or "CPU busy" in done.stdout
    (target,) = load_yaml((out / "exporter.yaml").read_text())["targets"]
    assert target["name"] == "PROD1"
    assert config.load(out / "exporter.yaml").verdicts == VerdictConfig(prometheus=prometheus)
    assert load_yaml((out / "prometheus.yml").read_text())["global"]["scrape_interval"] == "30s"
    assert list((out / "rules").iterdir()) and list((out / "dashboards").iterdir())

    # What follows it was seen above.
    monkeypatch.setattr(top, "top", lambda **_: None)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    again = run(*arguments, "--prometheus", prometheus, **environment)
    assert again.returncode == 0
    assert "written" not in again.stdout
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before

    # A second server is added, below the first one's lines and comments.
    (out / "exporter.yaml").write_text((out / "exporter.yaml").read_text() + "# mine\n")
    address = (tmp_path / "interfaces").read_text().split()[-2:]
    second = run("setup", "-S", ":".join(address), *arguments[3:], **environment)
    assert second.returncode == 0, second.stderr
    text = (out / "exporter.yaml").read_text()
    assert [each["name"] for each in load_yaml(text)["targets"]] == [":".join(address), "PROD1"]
    assert text.endswith("# mine\n")


def test_what_goes_wrong_is_one_line(
    run: Run, environment: dict[str, str], tmp_path: Path, closed_port: int
) -> None:
    out = tmp_path / "out"
    arguments = ("setup", "--login-password-file", f"{tmp_path}/own", "-o", str(out))
    admin = ("--admin", "sa", "--admin-password-file", f"{tmp_path}/own", "--yes")
    other = "targets:\n- {name: PROD1, host: other}\nauth:\n  default: {user: a, password_file: /b}\n"
    judged = other.replace("- {name: PROD1", "  - {name: PROD2") + "verdicts: {prometheus: 'http://other'}\n"
    named = ("-S", "PROD1")
    for given, text, said in (
        ((*named, *admin), None, "ase-exporter: --admin sa: Msg 4002: "),
        (("-S", f"127.0.0.1:{closed_port}"), None, "refused the connection"),
        ((*named, "--prometheus", "db:9090"), None, "--prometheus: 'db:9090': expected a URL"),
        ((*named, "--prometheus", "http://a:planted@db:9090"), None, "expected a URL without a password"),
        (named, other, f"{out}/exporter.yaml: target PROD1 has another address"),
        ((*named, "--prometheus", "http://db:9090"), judged, "verdicts has another Prometheus than"),
        (named, "{}", f"{out}/exporter.yaml: expected lists below"),
        (named, "targets: {", f"{out}/exporter.yaml:1: "),
        ((), None, "expected -S SERVER, since there is no terminal"),
    ):
        if text:
            out.mkdir(exist_ok=True)
            (out / "exporter.yaml").write_text(text)
        ended = run(*arguments, *given, **environment)
        assert ended.returncode == 2, given
        assert said in ended.stderr.splitlines()[-1]
        assert "Traceback" not in ended.stderr
        assert PASSWORD not in ended.stdout + ended.stderr and "planted" not in ended.stderr
        assert [path.name for path in out.rglob("*")] == (["exporter.yaml"] if text or out.exists() else [])


def test_questions_at_a_terminal(environment: dict[str, str], tmp_path: Path, server: Simulated) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "PROD1.password").touch(0o644)
    terminal = Terminal(environment, "setup", "-U", "typed", "-P", "-o", f"{tmp_path}/out")
    for question, answer in (
        ("Server, or HOST:PORT", "PROD1"),
        ("Password of typed", PASSWORD),
        ("URL of Prometheus", "-"),
        ("Login that runs this now", "sa"),
        ("Run it now?", "y"),
        ("Password of sa", server.password),
        ("Run it now?", "y"),
    ):
        terminal.answer(question, answer)
    assert terminal.end() == 0, terminal.shown
    assert "No metric is missing." in terminal.shown
    assert PASSWORD not in terminal.shown
    assert server.password not in terminal.shown
    secret = tmp_path / "out" / "PROD1.password"
    assert secret.read_text().strip() == PASSWORD
    assert secret.stat().st_mode & 0o077 == 0


def test_a_password_on_the_command_line_is_refused_and_not_repeated(run: Run) -> None:
    for words in (("-P", PASSWORD), (f"-P{PASSWORD}",), ("-P", "")):
        ended = run("top", "--once", "-S", "PROD1", "-U", "monitor", *words)
        assert ended.returncode == 2
        assert ended.stderr.startswith("ase-exporter: -P takes no password, because `ps` would show it")
        assert PASSWORD not in ended.stderr


def test_a_server_by_name_with_a_password_that_is_typed(
    environment: dict[str, str], server: Simulated
) -> None:
    terminal = Terminal(environment | {"DSQUERY": "PROD1"}, "check", "-U", "monitor", "-P")
    terminal.answer("Password of monitor: ", server.password)
    assert terminal.end() == 1, terminal.shown
    assert "configuration option 'enable spinlock monitoring' is off" in terminal.shown
    assert server.password not in terminal.shown
    ended = without_terminal(environment, "check", "-S", "PROD1", "-U", "monitor")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "-U monitor: no terminal to ask for the password: expected ASE_USER" in ended.stderr


def test_the_login_of_the_environment_is_not_sent_for_another(
    run: Run, environment: dict[str, str], server: Simulated
) -> None:
    own = environment | {"ASE_USER": "monitor", "ASE_PASSWORD": server.password}
    assert "no terminal" in without_terminal(own, "check", "-S", "PROD1", "-U", "sa").stderr
    assert run("check", "-S", "PROD1", **own).stdout.startswith("PROD1: ")


def test_a_configuration_that_is_found_is_named(
    run: Run, environment: dict[str, str], tmp_path: Path, server: Simulated
) -> None:
    host, port = server.address
    file = tmp_path / "xdg" / "ase-exporter" / "exporter.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"targets: [{{name: ONE, host: {host}, port: {port}}}]\n"
        f"auth: {{default: {{user: monitor, password_file: {tmp_path}/sa}}}}\n"
    )
    ended = run("check", "-S", "ONE", **environment)
    assert ended.stderr == f"ase-exporter: configuration: {file}\n"
    assert ended.stdout.startswith("ONE: ")


def test_serve_keeps_a_typed_password_out_of_what_ps_shows(
    environment: dict[str, str], server: Simulated
) -> None:
    terminal = Terminal(environment, "serve", "-SPROD1", "-Umonitor", "--web.listen-address=127.0.0.1:0")
    terminal.answer("Password of monitor: ", server.password)
    url = re.search(r"http://[0-9.:]+", terminal.wait_for("targets: 1"))
    assert url, terminal.shown
    try:
        probed = httpx2.get(f"{url[0]}/probe", params={"target": "PROD1"}, timeout=60)
        assert "\nase_up 1.0\n" in probed.text
        main = psutil.Process(terminal.pid)
        for process in (main, *main.children(recursive=True)):
            assert server.password not in f"{process.cmdline()} {process.environ()}"
    finally:
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.end() == 0


def test_files_are_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    old, private = tmp_path / "exporter.yaml", tmp_path / "PROD1.password"
    old.write_text("old")
    old.chmod(0o640)
    (tmp_path / "link").symlink_to(old)
    private.write_text("same")
    private.chmod(0o644)
    os.mkfifo(tmp_path / "fifo")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        with pytest.raises(UserError, match=r"--output .*exporter.yaml.*: File too large"):
            setup._write(tmp_path, {old.name: "x" * 10_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert old.read_text() == "old"
    said = in_time(lambda: setup._write(tmp_path, {"fifo": "x"}))
    assert "not a regular file" in said
    setup._write(tmp_path, {"link": "new"})
    setup._write(tmp_path, {private.name: "same"}, private=True)
    assert (old.read_text(), old.stat().st_mode & 0o777) == ("new", 0o640)
    assert private.stat().st_mode & 0o007 == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "PROD1.password",
        "exporter.yaml",
        "fifo",
        "link",
    ]


def test_a_message_that_repeats_the_statement_shows_no_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Repeating:
        def query(self, sql: str, _: float) -> None:
            raise DatabaseError("query_failed", f"Incorrect syntax near {sql}")

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(setup, "_open", lambda *_: Repeating())
    server = Target(name="PROD1", host="db.example")
    administrator = setup._Administrator(server, "sa", None, True, Auth(user="sa", password="planted-sa"))
    assert administrator.run(["exec sp_addlogin 'a', 'CHANGE_ME'"], PASSWORD)
    shown = "".join(capsys.readouterr())
    assert "near exec sp_addlogin 'a', '<password>'" in shown
