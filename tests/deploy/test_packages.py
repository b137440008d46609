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
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.exporter.mcp_server.running_server import frames
from tests.paths import REPOSITORY

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


def copy_sources(root: Path) -> None:
    """Copy what the distributions are built from, without what running and building it left there."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")
    for name in SOURCES:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, root / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(REPOSITORY / name, root / name)


@dataclass(frozen=True)
class Built:
    """What was built from a checkout in which an earlier build and a run had left files. added: what building left."""

    dist: Path
    added: set[Path]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Two sdists, and two wheels as pip makes them when it installs a checkout."""
    root = tmp_path_factory.mktemp("packages")
    copy_sources(root)
    for name, package in DISTRIBUTIONS.items():
        for left in (f"build/lib/{package}/gone.py", f"{package}/assets/__pycache__/gone.pyc"):
            (root / name / left).parent.mkdir(parents=True, exist_ok=True)
            (root / name / left).touch()
    before = set(root.rglob("*"))
    sources = [str(root / name) for name in DISTRIBUTIONS]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, f"--wheel-dir={root / 'dist'}", *sources], check=True, env=CLEAN)
    added = {path for path in set(root.rglob("*")) - before if "dist" not in path.relative_to(root).parts}
    for source in sources:
        build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", f"--outdir={root / 'dist'}"]
        subprocess.run([*build, source], check=True, env=CLEAN, capture_output=True)
    return Built(root / "dist", added)


@pytest.fixture(scope="module")
def packages(built: Built) -> Path:
    """The directory with the sdists and wheels."""
    return built.dist


def environment_with(directory: Path, *wheels: Path) -> Path:
    """Return bin/ of a new environment with these wheels; dependencies are those of the running Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True, env=CLEAN)
    # uv takes a tenth of pip's time.
    install = [UV, "pip", "install", "--quiet", "--offline", "--python", str(directory / "bin" / "python")]
    subprocess.run([*install, "--no-deps", "--no-index", *map(str, wheels)], check=True, env=CLEAN)
    (site_packages,) = directory.glob("lib/python*/site-packages")
    # A path named in a .pth file is searched, but its own .pth files, such as those of a checkout, are not read.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return directory / "bin"


@pytest.fixture(scope="module")
def bin_directory(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of an environment with both wheels."""
    return environment_with(tmp_path_factory.mktemp("environment"), *packages.glob("*.whl"))


@pytest.fixture(scope="module")
def exporter_alone(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of an environment with the exporter's wheel, without the simulator, and without what only extras need."""
    directory = tmp_path_factory.mktemp("exporter_alone")
    bin_directory = environment_with(directory, *packages.glob("ase_exporter-*.whl"))
    (site_packages,) = directory.glob("lib/python*/site-packages")
    (site_packages / "without_extras.py").write_text(WITHOUT_EXTRAS)
    (site_packages / "without_extras.pth").write_text("import without_extras\n")
    return bin_directory


# Hides what the distribution does not require, although the tests' environment has it.
WITHOUT_EXTRAS = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {
            "sqlglot", "cryptography", "mcp", "numpy", "textual", "ase_simulator"
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())
"""


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
def test_the_wheel_holds_every_file_of_its_package_and_nothing_older(packages: Path, name: str) -> None:
    (wheel,) = packages.glob(f"{DISTRIBUTIONS[name]}-*.whl")
    inside = {member for member in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in member}
    assert inside == shipped_files(name)


def test_installing_from_a_checkout_leaves_nothing_there(built: Built) -> None:
    """It is done as root, and again for each upgrade."""
    assert built.added == set()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_sdist_holds_them_too_with_licence_and_readme(packages: Path, name: str) -> None:
    (sdist,) = packages.glob(f"{DISTRIBUTIONS[name]}-*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers() if not member.issym()}
    assert {"LICENSE", "README.md", "pyproject.toml"} <= inside
    assert shipped_files(name) <= inside


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_metadata_is_complete(packages: Path, name: str) -> None:
    (wheel,) = packages.glob(f"{DISTRIBUTIONS[name]}-*.whl")
    (metadata,) = (member for member in zipfile.ZipFile(wheel).namelist() if member.endswith("/METADATA"))
    found = email.message_from_bytes(zipfile.ZipFile(wheel).read(metadata))
    assert found["License-Expression"] == "Apache-2.0"
    assert found["Author"] and found["Summary"] and found["Description-Content-Type"] == "text/markdown"
    urls = {value.partition(",")[0] for value in found.get_all("Project-URL", [])}
    assert urls == {"Repository", "Documentation", "Changelog", "Issues"}
    classifiers = found.get_all("Classifier", [])
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(classifiers)
    # A package index resolves no relative links.
    assert re.findall(r"\]\((?!https://)[^)]*\)", str(found.get_payload())) == []


def test_the_installed_code_is_the_wheels(bin_directory: Path) -> None:
    where = run(
        bin_directory,
        "python",
        "-c",
        "import ase_exporter as a, ase_simulator as b; print(a.__file__, b.__file__)",
    )
    assert all(path.startswith(str(bin_directory.parent)) for path in where.stdout.split()), where.stdout


@pytest.mark.parametrize("command", ["rules", "rules --set data_cache=0.15", "dashboards", "sql", "config"])
def test_the_wheel_alone_writes_its_files(exporter_alone: Path, tmp_path: Path, command: str) -> None:
    written = run(exporter_alone, "ase-exporter", "write", *command.split(), "--output", str(tmp_path))
    assert written.returncode == 0, written.stderr
    assert len(list(tmp_path.iterdir())) >= 2


def test_the_wheel_alone_reads_a_server(exporter_alone: Path, simulator_port: int) -> None:
    environment = {"ASE_HOST": "127.0.0.1", "ASE_USER": "monitor", "ASE_PASSWORD": "secret"}
    top = run(exporter_alone, "ase-exporter", "top", "--once", ASE_PORT=str(simulator_port), **environment)
    assert top.returncode == 0, top.stderr
    assert "busy" in top.stdout


def scraped(port: str) -> str:
    """The metrics of the server; a scrape may run into its deadline on a busy machine."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/probe?target=127.0.0.1", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def test_the_wheel_alone_serves_and_says_what_needs_an_extra(
    exporter_alone: Path, simulator_port: int, tmp_path: Path
) -> None:
    file = tmp_path / "exporter.yaml"
    target = f"{{name: 127.0.0.1, host: 127.0.0.1, port: {simulator_port}}}"
    login = "{default: {user: monitor, password: secret}}"
    file.write_text(f"targets: [{target}]\nauth: {login}\nverdicts: {{prometheus: 'http://127.0.0.1:1'}}\n")
    command = [str(exporter_alone / "ase-exporter"), "serve", "--web.listen-address=127.0.0.1:0"]
    command.append(f"--config.file={file}")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=CLEAN) as process:
        assert process.stderr is not None
        assert "need numpy, which is not installed: " in process.stderr.readline()
        (port,) = re.findall(r"listening on http://127.0.0.1:(\d+)", process.stderr.readline())
        deadline = time.monotonic() + 120
        while "\nase_up 1" not in (text := scraped(port)):
            assert time.monotonic() < deadline, text
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (
            ["mcp", "--prometheus=http://127.0.0.1:9"],
            "mcp needs its SDK, which is not installed: {pip} install 'ase-exporter[mcp]'",
        ),
        (
            ["compare", "--prometheus=http://127.0.0.1:9", "--target=A"],
            "compare needs numpy, which is not installed: {pip} install 'ase-exporter[compare]'",
        ),
        (
            ["report", "--prometheus=http://127.0.0.1:9", "--target=A"],
            "report needs numpy, which is not installed: {pip} install 'ase-exporter[compare]'",
        ),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(
    exporter_alone: Path, tmp_path: Path, arguments: list[str], missing: str
) -> None:
    command = [str(exporter_alone / "ase-exporter"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=CLEAN, cwd=tmp_path)
    # The environment's own: the user's PATH has another pip, or none.
    line = missing.format(pip=f"{exporter_alone}/python -m pip")
    assert (result.returncode, result.stderr) == (2, f"ase-exporter: {line}\n")


def test_an_installed_exporter_gives_an_assistant_its_tools(bin_directory: Path) -> None:
    program = [str(bin_directory / "ase-exporter")]
    with frames("--prometheus=http://127.0.0.1:9", program=program) as server:
        tools = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert tools == {"servers", "diagnose", "sessions", "changes", "compare", "advise"}
        assert server.end() == 0


def test_serving_imports_nothing_that_only_an_extra_installs(exporter_alone: Path) -> None:
    """Nor what only the commands need: typer and rich would stay in the exporter's memory."""
    code = "import json, sys, ase_exporter.web.server; print(json.dumps([*sys.modules]))"
    imported = run(exporter_alone, "python", "-c", code)
    assert imported.returncode == 0, imported.stderr
    assert not {"numpy", "sqlglot", "cryptography", "mcp", "typer", "rich", "jinja2"} & set(
        json.loads(imported.stdout)
    )
