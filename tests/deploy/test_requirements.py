"""Dependencies: pinned with hashes, installed by them, all used, none undeclared."""

import re
import sys
import tomllib
from functools import cache
from importlib import metadata
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.paths import REPOSITORY
from tests.unit_tier import imports

DISTRIBUTIONS = ("exporter", "simulator")
METADATA = {
    name: tomllib.loads((REPOSITORY / name / "pyproject.toml").read_text(encoding="utf-8"))
    for name in DISTRIBUTIONS
}
PROJECTS = {name: each["project"] for name, each in METADATA.items()}
OWN = {"ase_exporter", "ase_simulator"}
LOCKS = ("requirements.txt", "requirements-simulator.txt", "requirements-dev.txt")


def declared(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def required(name: str, *chosen: str) -> set[str]:
    """What a distribution requires, with these extras (by default all) but for the other distribution."""
    optional = PROJECTS[name].get("optional-dependencies", {})
    extras = [optional[extra] for extra in chosen or optional]
    return declared([*PROJECTS[name]["dependencies"], *chain(*extras)]) - {"ase-exporter"}


def pinned(lock: str) -> set[str]:
    """The name of each entry; every one must be exact and have hashes."""
    text = (REPOSITORY / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    found: set[str] = set()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        head, *hashes = re.split(r"\s+--hash=", line.strip())
        requirement = Requirement(head)
        assert [version.operator for version in requirement.specifier] == ["=="], line
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), line
        found.add(canonicalize_name(requirement.name))
    return found


packages_distributions = cache(metadata.packages_distributions)


def imported(name: str) -> set[str]:
    """The distributions that a program imports, wherever in a file."""
    files = REPOSITORY.glob(f"{name}/**/*.py")
    modules = {module.partition(".")[0] for path in files for module in imports(path)}
    distributions = packages_distributions()
    return {canonicalize_name(distributions[each][0]) for each in modules - OWN - sys.stdlib_module_names}


def needed(names: set[str]) -> set[str]:
    """These and all that they need, on any platform, as far as it is installed here."""
    found: set[Requirement] = set()
    waiting = set(map(Requirement, names))
    while waiting:
        one = waiting.pop()
        found.add(one)
        try:
            requirements = set(map(Requirement, metadata.requires(one.name) or ()))
        except metadata.PackageNotFoundError:
            continue
        waiting |= {each for each in requirements if is_required(each, one.extras)} - found
    return {canonicalize_name(each.name) for each in found}


def is_required(requirement: Requirement, extras: set[str]) -> bool:
    of_an_extra = re.search(r"extra == ['\"]([^'\"]+)", str(requirement.marker))
    return not of_an_extra or of_an_extra[1] in extras


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_exact_has_hashes_and_names_no_index(lock: str) -> None:
    assert len(pinned(lock)) > 10
    text = (REPOSITORY / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|--index|--extra-index|--find-links|--trusted-host", text)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_what_is_imported_is_declared_and_what_is_declared_is_imported(name: str) -> None:
    # setup.py needs what builds the distribution.
    built_with = declared(METADATA[name]["build-system"]["requires"])
    assert imported(name) == required(name) | built_with


@pytest.mark.parametrize(
    ("lock", "direct"),
    [("requirements.txt", required("exporter")), ("requirements-simulator.txt", required("simulator"))],
)
def test_what_is_pinned_is_what_is_needed(lock: str, direct: set[str]) -> None:
    assert direct <= pinned(lock) <= needed(direct)


@pytest.mark.parametrize("lock", LOCKS[:2])
def test_users_get_the_versions_that_are_tested(lock: str) -> None:
    def pins(name: str) -> set[str]:
        lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
        return {line.partition(" ")[0] for line in lines if "==" in line}

    assert pins(lock) <= pins("requirements-dev.txt")


def test_requirements_are_installed_by_their_hashes_wherever_they_are() -> None:
    files = [*REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("deploy/**/*")]
    texts = [
        path.read_text(encoding="utf-8")
        for path in files
        if path.suffix in (".md", ".sh", "") and path.is_file()
    ]
    commands = [
        command
        for text in texts
        for command in text.replace("\\\n", " ").splitlines()
        if re.search(r"pip install.*-r \S*requirements", command)
    ]
    assert len(commands) >= 3
    assert all("--require-hashes" in command for command in commands)
