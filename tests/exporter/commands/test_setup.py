"""`setup` and the options of ASE's own programs (-S, -U, -P), against the simulator, with and without a terminal."""

import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.config.test_special_files import in_time
from tests.exporter.simulated import Simulated
from tests.programs import START

from ase_exporter import config
from ase_exporter.ase.connection import DatabaseError
from ase_exporter.ase.timing import TIMING
from ase_exporter.assets import load_yaml
from ase_exporter.commands import setup, top
from ase_exporter.commands.write import rule_texts
from ase_exporter.config.interfaces import Address
from ase_exporter.errors import UserError

PASSWORD = "a new pass'word"


@pytest.fixture
def server(server: Simulated) -> Simulated:
    """A server that lacks one option."""
    with server.login("sa") as query:
        query("exec sp_configure 'enable spinlock monitoring', 0")
    return server


@pytest.fixture
def environment(server: Simulated, tmp_path: Path) -> dict[str, str]:
    """An interfaces file that names the server, files of passwords, and nothing of the machine's own configuration."""
    host, port = server.address
    (tmp_path / "interfaces").write_text(f"PROD1\n\tquery tcp ether {host} {port}\n")
    (tmp_path / "monitor").write_text(server.password)
    (tmp_path / "own").write_text(PASSWORD)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"SYBASE": str(tmp_path), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules for an interval take a second, and so does `top --once`: the rules are read once, and `top` not run."""
    monkeypatch.setattr(setup, "rule_texts", cache(rule_texts))
    monkeypatch.setattr(top, "top", lambda **_: None)
    monkeypatch.setattr(Address, "answers", lambda address: address.port != 9093)


@pytest.fixture
def set_up(quick: None, run: Run, environment: dict[str, str], tmp_path: Path) -> Run:
    """A function that sets up servers, by more words, for a login that there is, in the directory out."""
    login = ("-U", "monitor", "--login-password-file", f"{tmp_path}/monitor")
    return lambda *words: run("setup", *login, "-o", f"{tmp_path}/out", *words, **environment)


def files(directory: Path) -> dict[str, str]:
    """The texts of all files in a directory, by path."""
    return {
        str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()
    }


# The command, with a shorter wait between the two samples of `top --once`.
SCRIPT = (
    "from ase_exporter import cli; from ase_exporter.commands import top; top.ONCE_INTERVAL = 3.0; cli.main()"
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", SCRIPT, *arguments]


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
    run: Run, environment: dict[str, str], server: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(top, "ONCE_INTERVAL", 3.0)
    monkeypatch.setattr(setup, "rule_texts", cache(rule_texts))
    out = tmp_path / "out"
    words = f"setup -S PROD1 --login-password-file {tmp_path}/own -o {out} --interval 30s"
    refused = run(*words.split(), **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "Nothing was written. An administrator creates the login with:" in refused.stdout
    assert "exec sp_addlogin 'ase_exporter', 'CHANGE_ME', 'master'\ngo" in refused.stdout
    assert PASSWORD not in refused.stdout
    assert not out.exists()

    # That takes longer than a refused password waits.
    monkeypatch.setattr(TIMING, "login_pause", 0.0)
    # The administrator creates the login, whose SQL is in the answer, and does not yet do what monitoring needs.
    with server.login("sa") as query:
        script = refused.stdout.partition("use master\n")[2].partition("Then run setup again")[0]
        for batch in script.replace("CHANGE_ME", PASSWORD.replace("'", "''")).split("\ngo\n")[:-1]:
            query(batch)
    lacking = run(*words.split(), **environment)
    assert lacking.returncode == 1
    assert "exec sp_configure 'enable spinlock monitoring', 1\ngo" in lacking.stdout
    assert "Time goes to:" in lacking.stdout or "CPU busy" in lacking.stdout
    (target,) = load_yaml((out / "exporter.yaml").read_text())["targets"]
    assert target["name"] == "PROD1"
    assert load_yaml((out / "prometheus.yml").read_text())["global"]["scrape_interval"] == "30s"
    assert list((out / "rules").iterdir()) and list((out / "dashboards").iterdir())

    before = files(out)
    with server.login("sa") as query:
        query("exec sp_configure 'enable spinlock monitoring', 1")
    monkeypatch.setattr(top, "top", lambda **_: None)
    again = run(*words.split(), **environment)
    assert again.returncode == 0
    assert "No metric is missing." in again.stdout
    assert "written" not in again.stdout
    assert files(out) == before


def test_another_run_changes_no_file_that_is_there(set_up: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    set_up("-S", "PROD1", "--interval", "60s")
    (out / "rules" / "mine.rules.yaml").write_text("groups: []\n")
    (out / "prometheus.yml").unlink()
    before = files(out)
    ended = set_up("-S", "PROD1")
    rules = len(rule_texts(15.0))
    assert f"{out}/rules: left as it is, which is not what setup writes (" in ended.stdout
    assert f" of {rules} files): remove it to get that\n{out}/dashboards: unchanged\n" in ended.stdout
    after = files(out)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"prometheus.yml"}
    # Nothing but what answers, and no word of what does not.
    assert "No Alertmanager here: to add one" in ended.stdout and "node_exporter" not in ended.stdout
    scraping = load_yaml(after["prometheus.yml"])
    assert [each["job_name"] for each in scraping["scrape_configs"]] == [
        "ase",
        "ase-exporter",
        "node",
        "prometheus",
    ]
    assert "9093" not in after["prometheus.yml"]
    # The interval that was set before is kept.
    slower = after["prometheus.yml"].replace("15s", "60s")
    (out / "prometheus.yml").write_text(slower)
    again = set_up("-S", "PROD1")
    assert f"{out}/rules: unchanged\n" in again.stdout
    assert f"{out}/prometheus.yml: unchanged\n" in again.stdout
    assert f"prometheus --config.file={out}/prometheus.yml --storage.tsdb.path=" in again.stdout
    assert (out / "prometheus.yml").read_text() == slower


def test_lines_for_another_server_are_printed(set_up: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "exporter.yaml").write_text("# mine\ntargets: []\nauth: {}\n")
    ended = set_up("-S", "PROD1")
    assert ended.returncode == 1
    assert (out / "exporter.yaml").read_text() == "# mine\ntargets: []\nauth: {}\n"
    lines = ended.stdout.partition("which is never changed here:\n\n")[2].partition("\nand then:")[0]
    (out / "exporter.yaml").write_text(f"# mine\n{lines}")
    (known,) = config.load(out / "exporter.yaml").targets
    assert known.name == "PROD1"
    # It is known by its address, too.
    for name in ("PROD1", f"{known.host}:{known.port}"):
        again = set_up("-S", name)
        assert "Add these lines" not in again.stdout and again.stdout.startswith("PROD1: ")
    assert (out / "exporter.yaml").read_text() == f"# mine\n{lines}"


def test_several_servers_are_set_up_together_or_not_at_all(
    set_up: Run, tmp_path: Path, server: Simulated, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_: object) -> None:
        raise DatabaseError("login_failed", "Login failed.", 4002)

    out = tmp_path / "out"
    with (tmp_path / "interfaces").open("a") as interfaces:
        interfaces.write(f"PROD2\n\tquery tcp ether localhost {server.address[1]}\n")
        interfaces.write(f"GONE\n\tquery tcp ether localhost {closed_port}\n")
    words = ("-S", "PROD1", "-S", "PROD2")
    assert set_up(*words, "-S", "GONE").returncode == 2
    with monkeypatch.context() as one_refuses:
        one_refuses.setattr(setup, "_open", refusing)
        refused = set_up(*words)
    assert refused.returncode == 1
    assert refused.stdout.count("exec sp_addlogin 'monitor'") == 2
    assert not out.exists()
    set_up(*words, "-S", "PROD1")
    written = config.load(out / "exporter.yaml")
    assert [each.name for each in written.targets] == ["PROD1", "PROD2"] == [*written.auth]


def test_what_goes_wrong_is_one_line_and_writes_nothing(
    set_up: Run, tmp_path: Path, closed_port: int
) -> None:
    out = tmp_path / "out"
    other = "targets:\n- {name: PROD1, host: other}\nauth:\n  default: {user: a, password_file: /b}\n"
    named = ("-S", "PROD1")
    cases: tuple[tuple[tuple[str, ...], dict[str, str], str], ...] = (
        (("-S", f"127.0.0.1:{closed_port}"), {}, "refused the connection"),
        (named, {"exporter.yaml": other}, f"{out}/exporter.yaml: target PROD1 has another login or password"),
        (named, {"exporter.yaml": "targets: {"}, f"{out}/exporter.yaml:1: "),
        (named, {"rules": ""}, f"--output {out}/rules: "),
        (named, {"prometheus.yml/x": ""}, f"--output {out}: prometheus.yml: Is a directory"),
        ((), {}, "expected -S SERVER, since there is no terminal"),
    )
    for given, there, said in cases:
        shutil.rmtree(out, ignore_errors=True)
        for name, text in there.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text)
        ended = set_up(*given)
        assert ended.returncode == 2, given
        assert said in ended.stderr.splitlines()[-1]
        assert "Traceback" not in ended.stderr
        assert PASSWORD not in ended.stdout + ended.stderr
        assert (files(out) if out.exists() else {}) == there


def test_questions_at_a_terminal(environment: dict[str, str], tmp_path: Path, server: Simulated) -> None:
    before = os.umask(0)
    try:
        terminal = Terminal(environment, "setup", "-U", "monitor", "-P", "-o", f"{tmp_path}/new/out")
    finally:
        os.umask(before)
    terminal.answer("Server, or HOST:PORT", "PROD1")
    terminal.answer("Password of monitor", server.password)
    assert terminal.end() == 1, terminal.shown
    assert "exec sp_configure 'enable spinlock monitoring', 1" in terminal.shown
    assert server.password not in terminal.shown
    secret = tmp_path / "new" / "out" / "PROD1.password"
    assert secret.read_text().strip() == server.password
    assert secret.stat().st_mode & 0o077 == 0
    written = [path for path in (tmp_path / "new", *(tmp_path / "new").rglob("*")) if path != secret]
    assert not [path for path in written if path.stat().st_mode & 0o022]


def test_a_password_on_the_command_line_is_refused_and_not_repeated(run: Run) -> None:
    for words in (("-P", PASSWORD), (f"-P{PASSWORD}",), ("-P", "")):
        ended = run("top", "--once", "-S", "PROD1", "-U", "monitor", *words)
        assert ended.returncode == 2
        assert ended.stderr.startswith("ase-exporter: -P takes no password, because `ps` would show it")
        assert PASSWORD not in ended.stderr


def test_the_login_of_the_environment_is_not_sent_for_another(
    run: Run, environment: dict[str, str], server: Simulated
) -> None:
    own = environment | {"ASE_USER": "monitor", "ASE_PASSWORD": server.password}
    words = command("check", "-S", "PROD1", "-U", "sa")
    # A session of its own has no terminal.
    asked = subprocess.run(
        words, env=own, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert "no terminal" in asked.stderr
    assert run("check", "-S", "PROD1", **own).stdout.startswith("PROD1: ")


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


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    new = setup._Files(tmp_path, {"exporter.yaml": "x" * 10_000})
    new.examine()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        with pytest.raises(UserError, match=r"--output .*exporter.yaml.*: File too large"):
            new.write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_said_before(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").write_text("old")
    for directory, name, said in (
        (tmp_path, "fifo", "not a regular file"),
        (tmp_path, "link", "a link to nothing"),
        (tmp_path, "file", "it has another password"),
        (tmp_path / "file" / "below", "new", "Not a directory"),
    ):
        assert said in in_time(setup._Files(directory, {name: "x"}, private=True).examine)
