"""`serve` as it starts and loads again: what is left out of its memory, and what it says of bad files."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
import yaml
from tests.exporter.running_exporter import PATIENT, RunningExporter, exporter

from ase_exporter import config, loading
from ase_exporter.errors import UserError

# Libraries of what reads command lines and files, by what stands in their paths.
READERS = ("pydantic", "_yaml")


def configuration(port: int, *names: str, directory: Path) -> str:
    return yaml.safe_dump(
        {
            "auth": {"default": {"user": "monitor", "password": "simulated"}},
            "targets": [{"name": name, "host": "127.0.0.1", "port": port} for name in names],
            "scrape": PATIENT,
            "catalogue": {"directories": [str(directory)]},
        }
    )


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("start")


@pytest.fixture(scope="module")
def running(directory: Path, closed_port: int) -> Iterator[RunningExporter]:
    """With a catalogue file that is wrong."""
    (directory / "wrong.yaml").write_text("mine: {help: Of no table.}\n", encoding="utf-8")
    with exporter(directory, configuration(closed_port, "ONE", directory=directory)) as running:
        yield running


def libraries(process: psutil.Process) -> set[str]:
    """Names of the files that are mapped into its memory."""
    return {Path(mapped.path).name for mapped in process.memory_maps()}


def test_what_reads_files_and_command_lines_is_in_no_process_that_stays(running: RunningExporter) -> None:
    # An answer of the worker: it has started.
    answer = httpx.get(f"{running.url}/probe?target=ONE", trust_env=False, timeout=60)
    assert "\nase_up 0.0\n" in answer.text
    front, *workers = running.processes()
    assert front.pid == running.process.pid
    assert any("_sqlite3" in name for name in libraries(front))
    assert workers
    for process in (front, *workers):
        assert [name for name in libraries(process) for part in READERS if part in name] == []
    for worker in workers:
        assert any("pyodbc" in name for name in libraries(worker))
        assert not any("_asyncio" in name for name in libraries(worker))


def test_a_catalogue_file_that_is_wrong_is_told(running: RunningExporter, directory: Path) -> None:
    line = running.wait_for("left out of the catalogue")
    assert f"{directory / 'wrong.yaml'}:1: mine.metrics: Field required" in line


def test_what_is_loaded_again_is_read_by_the_same_rules(
    running: RunningExporter, directory: Path, closed_port: int
) -> None:
    def reload(text: str) -> httpx.Response:
        (directory / "exporter.yml").write_text(text, encoding="utf-8")
        return httpx.post(f"{running.url}/-/reload", trust_env=False, timeout=60)

    bad = reload("targets: [{name: ONE}]\n")
    assert bad.status_code == 500
    assert f"{directory / 'exporter.yml'}:1: targets.0.host: Field required" in bad.text
    good = reload(configuration(closed_port, "ONE", "TWO", directory=directory))
    assert good.status_code == 200
    targets = httpx.get(f"{running.url}/targets", trust_env=False, timeout=60).json()
    assert [target["targets"] for target in targets] == [["ONE"], ["TWO"]]


def test_another_process_reads_what_this_one_would(directory: Path, closed_port: int) -> None:
    file = directory / "same.yml"
    file.write_text(configuration(closed_port, "ONE", directory=directory), encoding="utf-8")
    assert loading.load(file) == loading.Loaded.of(config.load(file))


def test_a_process_that_fails_is_bad_input_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    with pytest.raises(UserError, match=r"^the process that reads the configuration failed: .* status 1"):
        loading.load(None)


def test_its_error_is_ours(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^\S+/none\.yml: cannot be read: No such file or directory$"):
        loading.load(tmp_path / "none.yml")
