"""`hugepages` queries ASE: run values determine the result, and each error is one clear line."""

from pathlib import Path

from tests.exporter.commands.command_line import Ended, Run
from tests.exporter.host.kernels import meminfo, pool, thp, write_files
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import PASSWORD, USER

from ase_simulator.model import load_scenario
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend


def asked(run: Run, server: Running, root: Path, user: str = USER, password: str = PASSWORD) -> Ended:
    write_files(root, {**meminfo(2000, 2000), **pool(2048, 2000, 2000), **thp("never")})
    config = root / "config.yaml"
    config.write_text(
        f"auth: {{default: {{user: {user}, password: {password}}}}}\n"
        f"targets: [{{name: one, host: 127.0.0.1, port: {server.port}}}]\n"
        f"host: {{procfs: {root}/proc, sysfs: {root}/sys}}\n"
    )
    return run("hugepages", f"--config.file={config}")


def test_run_values_of_the_server_determine_the_pages(run: Run, tmp_path: Path) -> None:
    (simulated,) = load_scenario("quiet-oltp", seed=1, speed=1.0, version=None)
    options = {option.name: option.run for option in simulated.options()}
    with running(lambda: Listener(SqlBackend(simulated))) as server:
        login = {"user": "ase_exporter", "password": "exporter"}
        before = asked(run, server, tmp_path, **login).stdout
        simulated.set_option("allocate max shared memory", 1, "sa")
        after = asked(run, server, tmp_path, **login).stdout
    for text, option, source in (
        (before, "total logical memory", "total logical memory (allocate max shared memory is 0)"),
        (after, "max memory", "max memory (allocate max shared memory is 1)"),
    ):
        assert f"from {source}\n" in text
        assert f" {-(-options[option] // 1024) + 512:,} of 2048kB" in text


def test_a_failed_login_is_one_line(run: Run, server: Running, tmp_path: Path) -> None:
    ended = asked(run, server, tmp_path, password="wrong")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("ase-exporter: target one: ") and " refused the login" in ended.stderr
    assert "wrong" not in ended.stderr
