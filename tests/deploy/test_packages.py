"""What a user installs: two wheels that carry everything and run by themselves."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.paths import REPOSITORY
from tests.programs import SOON, START, eventually, said_by

DISTRIBUTIONS = {"exporter": "ase_exporter", "simulator": "ase_simulator"}
# What the distributions are built from: themselves, and where their symbolic links lead.
SOURCES = (
    "exporter",
    "simulator",
    "LICENSE",
    "alerts/definitions",
    "alerts/rules",
    "alerts/runbooks",
    "alerts/parameters.yaml",
    "dashboards/json",
    "deploy",
)
UV = str(Path(sys.executable).with_name("uv"))
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ASE_"))}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the distributions are built from, with files that an earlier build and a run left."""
    root = tmp_path_factory.mktemp("packages")
    # Without what running and building it left here.
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")
    for name in SOURCES:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, root / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(REPOSITORY / name, root / name)
    for name, package in DISTRIBUTIONS.items():
        for left in (f"build/lib/{package}/gone.py", f"{package}/assets/__pycache__/gone.pyc"):
            (root / name / left).parent.mkdir(parents=True, exist_ok=True)
            (root / name / left).touch()
    return root


@pytest.fixture(scope="module")
def wheels(checkout: Path) -> list[Path]:
    """Two wheels, as pip makes them when it installs a checkout: it leaves nothing there, as root, at each upgrade."""
    before = set(checkout.rglob("*"))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    sources = [str(checkout / name) for name in DISTRIBUTIONS]
    subprocess.run([*pip, f"--wheel-dir={checkout / 'dist'}", *sources], check=True, env=CLEAN)
    wheels = [path for name in DISTRIBUTIONS for path in checkout.glob(f"dist/{DISTRIBUTIONS[name]}-*.whl")]
    assert set(checkout.rglob("*")) - before == {checkout / "dist", *wheels}
    return wheels


@pytest.fixture(scope="module")
def bin_directory(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of an environment with both wheels; dependencies are those of the running Python."""
    directory = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True, env=CLEAN)
    # uv takes a tenth of pip's time.
    install = [UV, "pip", "install", "--quiet", "--offline", "--python", str(directory / "bin" / "python")]
    subprocess.run([*install, "--no-deps", "--no-index", *map(str, wheels)], check=True, env=CLEAN)
    (site_packages,) = directory.glob("lib/python*/site-packages")
    # A path named in a .pth file is searched, but its own .pth files, such as those of a checkout, are not read.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (site_packages / "alone.py").write_text(ALONE)
    (site_packages / "alone.pth").write_text("import alone\n")
    return directory / "bin"


# Hides what the exporter does not require, although the environment has it.
ALONE = """
import os, sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {
            "sqlglot", "cryptography", "mcp", "numpy", "textual", "ase_simulator"
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if "EXPORTER_ALONE" in os.environ:
    sys.meta_path.insert(0, Hide())
"""
EXPORTER_ALONE = CLEAN | {"EXPORTER_ALONE": "1"}


@pytest.fixture(scope="module")
def simulator_port(bin_directory: Path) -> Iterator[int]:
    command = [str(bin_directory / "ase-simulator"), "--port=0", "--login=monitor:secret"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=CLEAN) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1].split()[0])
        process.terminate()


def run_alone(bin_directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the exporter's wheel, without the simulator's and without what only extras need."""
    command = [str(bin_directory / "ase-exporter"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=EXPORTER_ALONE)


def shipped_files(name: str) -> set[str]:
    """Files below a distribution's package, also those behind symbolic links, by their path in the wheel."""
    root = REPOSITORY / name
    return {
        str(Path(directory, file).relative_to(root))
        for directory, _, files in os.walk(root / DISTRIBUTIONS[name], followlinks=True)
        if "__pycache__" not in directory
        for file in files
    }


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_wheel_holds_every_file_of_its_package_and_nothing_older_and_its_metadata_is_complete(
    wheels: list[Path], name: str
) -> None:
    archive = zipfile.ZipFile(wheels[list(DISTRIBUTIONS).index(name)])
    inside = {member for member in archive.namelist() if ".dist-info/" not in member}
    assert inside == shipped_files(name)
    (metadata,) = (member for member in archive.namelist() if member.endswith("/METADATA"))
    found = email.message_from_bytes(archive.read(metadata))
    assert found["License-Expression"] == "Apache-2.0"
    assert found["Author"] and found["Summary"] and found["Description-Content-Type"] == "text/markdown"
    urls = {value.partition(",")[0] for value in found.get_all("Project-URL", [])}
    assert urls == {"Repository", "Documentation", "Changelog", "Issues"}
    classifiers = found.get_all("Classifier", [])
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(classifiers)
    # A package index resolves no relative links.
    assert re.findall(r"\]\((?!https://)[^)]*\)", str(found.get_payload())) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_sdist_holds_them_too_with_licence_and_readme(checkout: Path, tmp_path: Path, name: str) -> None:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", f"--outdir={tmp_path}"]
    subprocess.run([*build, checkout / name], check=True, env=CLEAN, capture_output=True)
    (sdist,) = tmp_path.iterdir()
    with tarfile.open(sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers() if not member.issym()}
    assert {"LICENSE", "README.md", "pyproject.toml"} <= inside
    assert shipped_files(name) <= inside


@pytest.mark.parametrize("command", ["rules --set data_cache=0.15", "dashboards"])
def test_the_wheel_alone_writes_its_files(bin_directory: Path, tmp_path: Path, command: str) -> None:
    written = run_alone(bin_directory, "write", *command.split(), "--output", str(tmp_path))
    assert written.returncode == 0, written.stderr
    assert len(list(tmp_path.iterdir())) >= 2


@pytest.mark.slow
def test_the_wheel_alone_serves(bin_directory: Path, simulator_port: int, tmp_path: Path) -> None:
    file = tmp_path / "exporter.yaml"
    target = f"{{name: A, host: 127.0.0.1, port: {simulator_port}}}"
    login = "{default: {user: monitor, password: secret}}"
    file.write_text(f"targets: [{target}]\nauth: {login}\n")
    command = [str(bin_directory / "ase-exporter"), "serve", "--web.listen-address=127.0.0.1:0"]
    command.append(f"--config.file={file}")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=EXPORTER_ALONE) as process:
        assert process.stderr is not None
        (url,) = re.findall(r"listening on (http://127.0.0.1:\d+)", process.stderr.readline())

        def is_read() -> bool:
            """A scrape may run into its deadline on a busy machine."""
            answer = httpx2.get(f"{url}/probe?target=A", trust_env=False, timeout=SOON)
            return "\nase_up 1" in answer.text

        eventually("the server is read", is_read, START)
        process.terminate()
        assert process.wait(SOON) == 0


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("mcp", "mcp needs its SDK, which is not installed: {pip} install 'ase-exporter[mcp]'"),
        (
            "compare --target=A",
            "compare needs numpy, which is not installed: {pip} install 'ase-exporter[compare]'",
        ),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(
    bin_directory: Path, command: str, missing: str
) -> None:
    result = run_alone(bin_directory, *command.split(), "--prometheus=http://127.0.0.1:9")
    # The environment's own: the user's PATH has another pip, or none.
    line = missing.format(pip=f"{bin_directory}/python -m pip")
    assert (result.returncode, result.stderr) == (2, f"ase-exporter: {line}\n")


def test_serving_imports_nothing_that_only_an_extra_installs(bin_directory: Path) -> None:
    """Nor what only the commands need: typer and rich would stay in the exporter's memory."""
    code = """
import ase_exporter.web.server, ase_simulator, json, sys
print(json.dumps([[*sys.modules], ase_exporter.__file__, ase_simulator.__file__]))
"""
    modules, *files = json.loads(said_by(bin_directory / "python", "-c", code, env=CLEAN))
    assert not {"numpy", "sqlglot", "cryptography", "mcp", "typer", "rich", "jinja2"} & set(modules)
    assert all(file.startswith(str(bin_directory.parent)) for file in files), "the wheels' code is what runs"
