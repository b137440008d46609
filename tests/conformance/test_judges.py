"""Other projects' own tests, run against the simulator with every failure that remains explained.

Java tools come from Maven Central (java/pom.xml). The others are built elsewhere, and named by environment variables:
CONFORMANCE_GO_ASE: the compiled integration tests of SAP's go-ase.
CONFORMANCE_FREETDS: a folder with the compiled unit tests of FreeTDS, dblib/unittests and ctlib/unittests under it.
FreeTDS was configured by an absolute path: the tests look for their files relative to it, from another folder.
CONFORMANCE_ASE_CLIENT: AdoNetCore.AseClient.dll for the .NET Framework.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance import builds
from tests.simulator.tds.running import Running, running

from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login

PASSWORD = "s3cret"
HERE = Path(__file__).parent

FREETDS = "CONFORMANCE_FREETDS"
_COMPUTE = "COMPUTE is not implemented"
FREETDS_FAILURES = {
    "dblib/t0023": _COMPUTE,
    "ctlib/t0009": _COMPUTE,
    "dblib/rpc": "it sends a parameter of the type NVARCHAR of TDS 7",
}


def needed(variable: str) -> Path:
    """What an environment variable names; skips where it is not set."""
    if not (value := os.environ.get(variable, "")):
        pytest.skip(f"{variable} is not set")
    assert Path(value).exists(), f"{variable}={value}: there is no such file"
    return Path(value)


@pytest.fixture(scope="module")
def model() -> SimulatedServer:
    (model,) = load_scenario("quiet-oltp")
    return model


@pytest.fixture(scope="module")
def server(model: SimulatedServer) -> Iterator[Running]:
    backend = SqlBackend(model, [Login("sa", PASSWORD, roles=list(FULL))])
    with running(lambda: Listener(backend, faults=model.faults)) as server:
        yield server


@pytest.mark.timeout(300)
def test_go_ase_passes_its_own_tests(server: Running) -> None:
    """Without cursors, which it can do without but for the test of their end."""
    program = needed("CONFORMANCE_GO_ASE")
    environment = {
        **os.environ,
        "ASE_HOST": "127.0.0.1",
        "ASE_PORT": str(server.port),
        "ASE_USERNAME": "sa",
        "ASE_PASSWORD": PASSWORD,
        "ASE_NO_QUERY_CURSOR": "true",
    }
    ended = subprocess.run(
        [program, "-test.v"], env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    assert re.findall(r"^--- FAIL: (\w+)", ended.stdout, re.MULTILINE) == ["TestCursorClose"]
    assert len(re.findall(r"^--- PASS: ", ended.stdout, re.MULTILINE)) >= 50, ended.stdout + ended.stderr


def _freetds_tests() -> list[str]:
    folder = os.environ.get(FREETDS, "")
    if not folder:
        return [FREETDS]
    return [
        f"{library}/{program.name}"
        for library in ("dblib", "ctlib")
        for program in sorted((Path(folder) / library / "unittests").iterdir())
        if program.is_file() and os.access(program, os.X_OK)
    ]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("name", _freetds_tests())
def test_freetds_passes_its_own_tests(
    server: Running, model: SimulatedServer, tmp_path: Path, name: str
) -> None:
    """Or asks for what is not simulated: bulk copy, WRITETEXT and cursors of client libraries."""
    model.faults.refused.clear()
    folder = needed(FREETDS)
    (tmp_path / "freetds.conf").write_text(
        f"[SIMULATED]\nhost = 127.0.0.1\nport = {server.port}\ntds version = 5.0\n"
    )
    (tmp_path / "PWD").write_text(f"UID=sa\nPWD={PASSWORD}\nSRV=SIMULATED\nDB=tempdb\n")
    settings = {
        "FREETDSCONF": str(tmp_path / "freetds.conf"),
        "TDSPWDFILE": str(tmp_path / "PWD"),
        "TDSVER": "5.0",
    }
    library, program = name.split("/")
    try:
        ended = subprocess.run(
            [folder / library / "unittests" / program],
            cwd=tmp_path,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20 if name in FREETDS_FAILURES else 120,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        assert name in FREETDS_FAILURES, late
        pytest.xfail(FREETDS_FAILURES[name])
    if name in FREETDS_FAILURES:
        assert ended.returncode, f"{name} passes: take it off the list of failures"
        pytest.xfail(FREETDS_FAILURES[name])
    if ended.returncode and model.faults.refused:
        pytest.xfail(f"not simulated: {', '.join(model.faults.refused)}")
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


@pytest.mark.timeout(300)
def test_ase_client_reads_tables_binds_parameters_and_fills_data_sets(
    server: Running, tmp_path: Path
) -> None:
    """csharp/Judge.cs prints a line for each check that fails."""
    library = needed("CONFORMANCE_ASE_CLIENT")
    if missing := {"mcs", "mono"} - {name for name in ("mcs", "mono") if shutil.which(name)}:
        pytest.skip(f"{missing} not installed")
    judge = tmp_path / "judge.exe"
    subprocess.run(
        ["mcs", f"-out:{judge}", f"-r:{library}", "-r:System.Data.dll", str(HERE / "csharp" / "Judge.cs")],
        check=True,
        timeout=120,
    )
    ended = subprocess.run(
        ["mono", str(judge), str(server.port), "sa", PASSWORD],
        env={**os.environ, "MONO_PATH": str(library.parent)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    lines = ended.stdout.splitlines()
    assert [line for line in lines if not line.startswith("ok ")] == [], ended.stderr
    assert len(lines) >= 40


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("FlywayJudge", {"sensible": 29, "right": 5, "refused": 2}),
        ("LiquibaseJudge", {"sensible": 65, "right": 5, "refused": 3}),
        ("HibernateJudge", {"sensible": 49, "right": 3}),
    ],
)
def test_java_tools_find_an_ase(server: Running, tmp_path: Path, name: str, counts: dict[str, int]) -> None:
    """Each step prints its verdict: sensible, the right error, refused as not simulated, or wrong."""
    ended = subprocess.run(
        [*builds.java_judge(name), str(server.port), "sa", PASSWORD],
        cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    steps = re.findall(r"^(sensible|right|refused|wrong)\t(.*)", ended.stdout, re.MULTILINE)
    assert [step for verdict, step in steps if verdict == "wrong"] == [], ended.stderr[-3000:]
    assert Counter(verdict for verdict, _ in steps) == counts, ended.stderr[-3000:]
