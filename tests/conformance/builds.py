"""Builds the programs of java/ and go/, once for all tests, in an ignored folder."""

import fcntl
import functools
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILDS = HERE.parent.parent / ".conformance"

JTDS = "net.sourceforge.jtds:jtds:1.3.1"


def jtds_bridge() -> list[str]:
    """The command that runs java/Bridge.java; skips where Java, Maven or jTDS are not to be had."""
    _need("java", "javac", "mvn")
    jar = BUILDS / "jtds-1.3.1.jar"
    source, built = HERE / "java" / "Bridge.java", BUILDS / "Bridge.class"
    with _alone():
        if not jar.exists():
            _fetch("mvn", "-q", "-B", "dependency:get", f"-Dartifact={JTDS}")
            _fetch("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={JTDS}", f"-DoutputDirectory={BUILDS}")
        if _stale(built, [source]):
            _run("javac", "-d", str(BUILDS), str(source))
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{BUILDS}:{jar}", "Bridge"]


def java_judge(name: str) -> list[str]:
    """The command that runs java/NAME.java with the tools of java/pom.xml; skips where they are not to be had."""
    _need("java", "javac", "mvn")
    folder, jars, classes = HERE / "java", BUILDS / "jars", BUILDS / "judges"
    pom, path = folder / "pom.xml", f"{classes}:{jars}/*"
    with _alone():
        if _stale(jars, [pom]):
            copy = ("dependency:copy-dependencies", f"-DoutputDirectory={jars}")
            _fetch("mvn", "-q", "-B", "--strict-checksums", "-f", str(pom), *copy)
            jars.touch()
        if _stale(classes, [pom, *(sources := sorted(folder.glob("*Judge.java")))]):
            _run("javac", "-nowarn", "-d", str(classes), "-cp", path, *map(str, sources))
            classes.touch()
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", path, name]


def go_bridge() -> list[str]:
    """The program of go/; skips where Go or a module is not to be had."""
    _need("go")
    program = BUILDS / "bridge"
    with _alone():
        if _stale(program, sorted((HERE / "go").iterdir())):
            _fetch("go", "mod", "download", folder=HERE / "go")
            _run("go", "build", "-o", str(program), ".", folder=HERE / "go")
    return [str(program)]


@contextmanager
def _alone() -> Iterator[None]:
    """Tests run in several processes: one builds, the others wait."""
    BUILDS.mkdir(exist_ok=True)
    with (BUILDS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def _stale(built: Path, sources: Sequence[Path]) -> bool:
    return not built.exists() or built.stat().st_mtime < max(source.stat().st_mtime for source in sources)


def _fetch(*command: str, folder: Path | None = None) -> None:
    """Run what needs the network, unless it has been here before; skips where it comes to nothing."""
    if problem := _problem_fetching(command, folder):
        pytest.skip(f"not to be had here: {problem}")


def _run(*command: str, folder: Path | None = None) -> None:
    if problem := _problem(command, folder, timeout=300):
        pytest.fail(problem)


@functools.cache
def _problem_fetching(command: Sequence[str], folder: Path | None) -> str:
    """Asked once: every test that needs it would wait for it anew."""
    return _problem(command, folder, timeout=90)


def _problem(command: Sequence[str], folder: Path | None, timeout: float) -> str:
    """What a command says that fails; '' if it ends well."""
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as late:
        return str(late)
    return f"{' '.join(command)}: {ended.stdout}{ended.stderr}" if ended.returncode else ""
