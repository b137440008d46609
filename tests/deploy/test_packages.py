"""What a user installs: a wheel that carries everything and runs by itself."""

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SOURCES = ["pyproject.toml", "README.md", "LICENSE", "exporter", "simulator"]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ASE_"))}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with sdist and wheel, the wheel built from the sdist."""
    root = tmp_path_factory.mktemp("packages")
    source = root / "source"
    source.mkdir()
    for name in SOURCES:
        if (REPOSITORY / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(REPOSITORY / name, source / name, ignore=ignored)
        else:
            shutil.copy(REPOSITORY / name, source / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(root / "dist"), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, env=CLEAN)
    assert built.returncode == 0, built.stdout + built.stderr
    return root / "dist"


@pytest.fixture(scope="module")
def bin_directory(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of a new environment with the wheel in it; its dependencies are those of the running Python."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, env=CLEAN)
    python = environment / "bin" / "python"
    (wheel,) = packages.glob("*.whl")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            wheel,
        ],
        check=True,
        env=CLEAN,
    )
    (site_packages,) = environment.glob("lib/python*/site-packages")
    # A path named in a .pth file is searched, but its own .pth files, such as that of a checkout, are not read.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin"


@pytest.fixture(scope="module")
def simulator_port(bin_directory: Path) -> Iterator[int]:
    command = [str(bin_directory / "ase-simulator"), "--port=0", "--login=monitor:secret"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=CLEAN)
    assert process.stdout is not None
    announced = process.stdout.readline()
    yield int(announced.rsplit(":", 1)[1].split()[0])
    process.terminate()
    process.wait()
    process.stdout.close()


def run(bin_directory: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(bin_directory / words[0]), *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, env=CLEAN | environment)


def shipped_files() -> set[str]:
    rooms = [REPOSITORY / "exporter", REPOSITORY / "simulator"]
    return {
        str(path.relative_to(room))
        for room in rooms
        for path in room.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }


def test_the_wheel_holds_every_file_of_both_packages(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == shipped_files()


def test_the_sdist_holds_them_too_with_licence_and_readme(packages: Path) -> None:
    (sdist,) = packages.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    sources = {f"{room}/{name}" for name in shipped_files() for room in ("exporter", "simulator")}
    assert {"LICENSE", "README.md", "pyproject.toml"} <= inside
    assert {name for name in sources if (REPOSITORY / name).exists()} <= inside


@pytest.mark.parametrize("command", ["ase-exporter", "ase-simulator"])
def test_an_installed_command_tells_its_use(bin_directory: Path, command: str) -> None:
    told = run(bin_directory, command, "--help")
    assert told.returncode == 0, told.stderr
    assert "Usage: " + command in told.stdout


def test_the_installed_code_is_the_wheels(bin_directory: Path) -> None:
    where = run(
        bin_directory,
        "python",
        "-c",
        "import ase_exporter as a, ase_simulator as b; print(a.__file__, b.__file__)",
    )
    assert all(path.startswith(str(bin_directory.parent)) for path in where.stdout.split()), where.stdout


def test_an_installed_exporter_reads_an_installed_simulator(bin_directory: Path, simulator_port: int) -> None:
    environment = {"ASE_HOST": "127.0.0.1", "ASE_USER": "monitor", "ASE_PASSWORD": "secret"}
    probe = run(bin_directory, "ase-exporter", "probe", ASE_PORT=str(simulator_port), **environment)
    assert probe.returncode == 0, probe.stderr
    assert "\nase_up 1" in probe.stdout


def test_a_server_that_is_not_there_is_one_line_and_exit_code_2(bin_directory: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening: refuses
        environment = {"ASE_HOST": "127.0.0.1", "ASE_USER": "monitor", "ASE_PASSWORD": "secret"}
        probe = run(
            bin_directory, "ase-exporter", "probe", ASE_PORT=str(taken.getsockname()[1]), **environment
        )
    assert probe.returncode == 2
    assert len(probe.stderr.splitlines()) == 1
    assert "127.0.0.1" in probe.stderr
    assert "\nase_up 0" in probe.stdout
