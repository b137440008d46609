"""`ase-exporter serve`: options, start-up, memory, and errors in its files."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.exporter.running_exporter import RunningExporter, configuration, exporter

from ase_exporter.commands import serving
from ase_exporter.commands.serving import ServeOptions

# Parts of the file names of shared libraries.
READERS = ("pydantic", "_yaml")
MODULES = {"typer", "rich", "argparse", "httpx2", "numpy", "jinja2"}


def configured(port: int, *names: str, directory: Path) -> str:
    addresses = dict.fromkeys(names, ("127.0.0.1", port))
    return configuration(addresses, catalogue={"directories": [str(directory)]})


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("start")


@pytest.fixture(scope="module")
def running(directory: Path, closed_port: int) -> Iterator[RunningExporter]:
    """An exporter with a bad catalogue file, and modules of others in its working directory."""
    (directory / "wrong.yaml").write_text("mine: {help: Of no table.}\n", encoding="utf-8")
    # Of the process that serves.
    for module in ("uvicorn", "yaml", "pyodbc"):
        source = f"open({str(directory / 'imported')!r}, 'a').write('{module} ')\n"
        (directory / f"{module}.py").write_text(source)
    text = configured(closed_port, "ONE", directory=directory)
    program = [str(Path(sys.executable).with_name("ase-exporter"))]
    options = ["--web.enable-lifecycle"]
    with exporter(directory, text, options, program=program, working_directory=directory) as running:
        yield running


def libraries(process: psutil.Process) -> set[str]:
    """Names of the files mapped into the process's memory."""
    return {Path(mapped.path).name for mapped in process.memory_maps()}


def test_options_reach_the_process_that_serves_as_they_were_given() -> None:
    name = b"a \xff\n'file'".decode(errors="surrogateescape")
    given = ServeOptions(
        config_file=Path(name),
        listen_address=":10150",
        web_config_file=None,
        lifecycle=True,
        annotations=False,
        state_directory=Path("state"),
        is_temporary=False,
        log_format="json",
        log_level="debug",
    )
    assert ServeOptions.from_arguments(given.arguments()[4:]) == given


def test_a_reload_that_is_asked_for_while_options_are_parsed_does_not_end_the_exporter() -> None:
    script = (
        "import os, signal, sys; from ase_exporter import cli; from ase_exporter.commands import app;"
        "app.run = lambda: os.kill(os.getpid(), signal.SIGHUP); sys.argv[1:] = ['serve']; cli.main()"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=120, check=False).returncode == 0


def test_the_processes_that_stay_do_not_import_what_only_commands_need() -> None:
    script = (
        "import sys; import ase_exporter.cli, ase_exporter.commands.serving, ase_exporter.web.server;"
        f"print(sorted(set(sys.modules) & {MODULES}))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


def test_the_supervisor_has_only_what_it_needs(running: RunningExporter) -> None:
    supervisor, child = running.processes()
    assert supervisor.pid == running.process.pid
    assert supervisor.cmdline()[1:5] == ["-P", "-m", "ase_exporter", serving.WORD]
    for part in (*READERS, "_sqlite3", "pyodbc"):
        assert not any(part in name for name in libraries(supervisor))
        assert any(part in name for name in libraries(child))


def test_a_bad_catalogue_file_is_logged(running: RunningExporter, directory: Path) -> None:
    line = running.wait_for("left out of the catalogue")
    assert f"{directory / 'wrong.yaml'}:1: mine.metrics: this key is missing" in line


def test_a_reload_applies_the_same_rules_as_a_start(
    running: RunningExporter, directory: Path, closed_port: int
) -> None:
    def reload(text: str) -> httpx2.Response:
        (directory / "exporter.yml").write_text(text, encoding="utf-8")
        return httpx2.post(f"{running.url}/-/reload", trust_env=False, timeout=60)

    bad = reload("targets: [{name: ONE}]\n")
    assert bad.status_code == 500
    assert f"{directory / 'exporter.yml'}:1: targets.0.host: this key is missing" in bad.text
    good = reload(configured(closed_port, "ONE", "TWO", directory=directory))
    assert good.status_code == 200
    targets = httpx2.get(f"{running.url}/targets", trust_env=False, timeout=60).json()
    assert [target["targets"] for target in targets] == [["ONE"], ["TWO"]]


def test_modules_in_the_working_directory_are_not_imported(running: RunningExporter, directory: Path) -> None:
    answer = httpx2.get(f"{running.url}/probe?target=ONE", trust_env=False, timeout=60)
    assert "\nase_up 0.0\n" in answer.text
    imported = directory / "imported"
    assert not imported.exists(), imported.read_text()
