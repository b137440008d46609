"""`hugepages` queries ASE: run values determine the result, and each error is one clear line."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.exporter.host.kernels import meminfo, pool, thp, write_files
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend
from typer.testing import CliRunner

from ase_exporter.commands.app import build
from ase_exporter.errors import UserError
from ase_exporter.host import ase_memory
from ase_simulator.model import load_scenario
from ase_simulator.results import Column, Result, Rows, Type
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend

OPTIONS = {"total logical memory": 1048576, "max memory": 939524096, "allocate max shared memory": 0}


def answers(options: dict[str, int]) -> dict[str, Callable[[], list[Result]]]:
    """Answers of a server with that configuration; names are padded with blanks, like char columns."""
    columns = [Column("name", Type("varchar", 80)), Column("value", Type("int"))]
    return {
        ase_memory._SQL: lambda: [Rows(columns, [(f"{name}  ", value) for name, value in options.items()])],
        "select @@servername": lambda: [Rows([Column("", Type("varchar", 30))], [("ASE1",)])],
    }


@pytest.fixture
def backend() -> ScriptedBackend:
    backend = ScriptedBackend()
    backend.answers = answers(OPTIONS)
    return backend


@pytest.fixture
def server(backend: ScriptedBackend) -> Iterator[Running]:
    with running(lambda: Listener(backend)) as run:
        yield run


def run(
    server: Running, root: Path, *options: str, user: str = USER, password: str = PASSWORD
) -> dict[str, object]:
    write_files(root, {**meminfo(2000, 2000), **pool(2048, 2000, 2000), **thp("never")})
    config = root / "config.yaml"
    config.write_text(
        f"auth: {{default: {{user: {user}, password: {password}}}}}\n"
        f"targets: [{{name: one, host: 127.0.0.1, port: {server.port}}}]\n"
    )
    paths = ["--path.procfs", str(root / "proc"), "--path.sysfs", str(root / "sys")]
    result = CliRunner().invoke(
        build(), ["hugepages", "--config.file", str(config), "--json", *paths, *options]
    )
    if result.exception is not None:
        raise result.exception
    report: dict[str, object] = json.loads(result.stdout)
    return report


def test_total_logical_memory_determines_the_pages(server: Running, tmp_path: Path) -> None:
    report = run(server, tmp_path)
    assert report["pages"] == 1024 + 512
    assert report["memory_source"] == "total logical memory (allocate max shared memory is 0)"


def test_max_memory_determines_the_pages_if_all_is_allocated(
    server: Running, backend: ScriptedBackend, tmp_path: Path
) -> None:
    backend.answers = answers({**OPTIONS, "allocate max shared memory": 1})
    report = run(server, tmp_path)
    assert report["pages"] == 918_016
    assert report["memory_source"] == "max memory (allocate max shared memory is 1)"


def test_a_missing_option_is_named(server: Running, backend: ScriptedBackend, tmp_path: Path) -> None:
    backend.answers = answers({"max memory": 5, "allocate max shared memory": 0})
    with pytest.raises(UserError, match="target one: no run value of total logical memory"):
        run(server, tmp_path)


def test_a_failed_login_is_one_line(server: Running, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"target one: .* refused the login") as caught:
        run(server, tmp_path, password="wrong")
    assert "wrong" not in str(caught.value)


def test_a_simulated_ase_answers_as_a_real_one_would(tmp_path: Path) -> None:
    (simulated,) = load_scenario("quiet-oltp", seed=1, speed=1.0, version=None)
    with running(lambda: Listener(SqlBackend(simulated))) as server:
        before = run(server, tmp_path, user="ase_exporter", password="exporter")
        simulated.set_option("allocate max shared memory", 1, "sa")
        after = run(server, tmp_path, user="ase_exporter", password="exporter")
    assert before["memory_source"] == "total logical memory (allocate max shared memory is 0)"
    (max_memory,) = (option.run for option in simulated.options() if option.name == "max memory")
    assert after["memory_bytes"] == max_memory * 2048
    assert int(str(before["memory_bytes"])) < int(str(after["memory_bytes"]))
