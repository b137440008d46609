"""The commands of the documents run as written, except for addresses and for the commands listed here.

They do every night: their world takes half a minute of CPU. In every build all commands and options are looked up.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from tests.deploy.fenced import Block, blocks, documents
from tests.deploy.world import World, world
from tests.programs import START, eventually

from ase_exporter.commands import app as exporter
from ase_exporter.compare.prometheus import Prometheus, Sample
from ase_simulator import cli as simulator

# First word of a line that is not run -> reason.
NOT_RUN = {
    "sudo": "changes the machine, as root",
    "pip": "asks the package index; tests/deploy/test_packages.py installs what is built here",
    "docker": "needs an engine; tests/deploy/test_containers.py has one where there is one",
    "git": "needs the address of the repository",
    ".venv/bin/python": "runs tests of the checkout",
    "make": "is how this test was started, or starts what tests/e2e/test_demo.py starts",
}
# Command -> text that its output must contain.
SAYS = {
    "ase-exporter check": "No metric is missing.",
    "ase-exporter setup": "busy",
    "ase-exporter hugepages --max-memory 939524096": "918,016",
}
pytestmark = [pytest.mark.timeout(300)]
PROGRAMS = {
    "ase-exporter": typer.main.get_command(exporter.build()),
    "ase-simulator": typer.main.get_command(simulator.app),
}
INLINE = re.compile(r"`((?:ase-exporter|ase-simulator) [^`\n]+)`")
OPTION = re.compile(r"(?<!\S)(--?[a-z][\w.-]*)")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("reader")) as around:
        made = around.run("isql -S PROD -w 200 -i sysmon.sql | tee report.txt before.txt >after.txt")
        assert made.returncode == 0, made.stderr
        yield around


def lines(block: Block) -> list[str]:
    """The commands of a block, those of several lines joined."""
    return block.text.replace("\\\n", " ").splitlines()


def runs(line: str) -> bool:
    return line.split()[:1] != [] and line.split()[0] not in NOT_RUN


def script(block: Block) -> str:
    """The part of a block that is run, without comments."""
    return "\n".join(re.sub(r"\s+#.*", "", line) for line in lines(block) if runs(line))


def scripts() -> list[Block]:
    """The blocks with commands to run, without those whose commands another one has as well."""
    different = {frozenset(script(block).splitlines()): block for block in reversed(blocks("sh"))}
    return [
        block
        for commands, block in reversed(different.items())
        if not any(commands < others for others in different)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("block", scripts(), ids=str)
def test_commands_run(block: Block, reader: World) -> None:
    commands = script(block)
    done = reader.run(reader.here(commands))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [said for command, said in SAYS.items() if command in commands and said not in done.stdout] == []


@pytest.mark.slow
def test_prometheus_finds_the_servers_of_the_page_that_installs(reader: World) -> None:
    found: dict[str, Sample] = {}

    def all_are_up() -> bool:
        # ASE1 has only a past, which Prometheus shows for five minutes more.
        ups = prometheus.query('ase_up{job="ase",instance!="ASE1"} == 1')
        found.update({sample.labels["instance"]: sample for sample in ups})
        return found.keys() == {"PROD", "PROD1", "PROD2"}

    with Prometheus(reader.prometheus) as prometheus:
        eventually("every server is up", all_are_up, 2 * START, every=0.5)
    assert found["PROD1"].labels["team"] == "trading"


@pytest.mark.slow
def test_a_command_that_fails_is_seen(reader: World) -> None:
    assert reader.run("false | cat\ntrue").returncode == 1


@pytest.mark.slow
def test_the_shell_completes_commands_and_options(reader: World) -> None:
    expected = {"compare --be": {"--before"}, "sysmon di": {"diff"}}
    completed = "".join(
        f"""
        COMP_WORDS=(ase-exporter {typed}) COMP_CWORD={len(typed.split())}
        _ase_exporter_completion ase-exporter
        echo "${{COMPREPLY[@]}}"
        """
        for typed in expected
    )
    done = reader.run(f"source <(ase-exporter --show-completion)\n{completed}")
    assert [set(line.split()) for line in done.stdout.splitlines()] == [*expected.values()], done.stderr


def test_what_is_not_run_is_there() -> None:
    first = {line.split()[0] for block in blocks("sh") for line in lines(block) if line.strip()}
    assert NOT_RUN.keys() <= first


def spoken() -> dict[str, list[str]]:
    """Every command of ours in a block or a line of a document -> the documents."""
    found: dict[str, list[str]] = {}
    for path in documents():
        for command in INLINE.findall(path.read_text(encoding="utf-8")):
            found.setdefault(command, []).append(path.name)
    for block in blocks("sh"):
        for line in script(block).splitlines():
            for part in re.findall(r"(?:ase-exporter|ase-simulator) [^|>)#]*", line.partition(" -- ")[0]):
                found.setdefault(part, []).append(str(block))
    return found


def unknown(command: str) -> list[str]:
    """The subcommand or options of a command line that do not exist."""
    name, *words = shlex.split(command.replace("…", "").replace("'", ""))
    found: Any = PROGRAMS[name]
    while hasattr(found, "commands") and words and not words[0].startswith("-"):
        if words[0] not in found.commands:
            return [words[0]]
        found = found.commands[words.pop(0)]
    known = {option for parameter in found.params for option in parameter.opts} | {"--help", "-h"}
    return [option for option in OPTION.findall(" ".join(words)) if option.split("=")[0] not in known]


def test_every_command_and_option_that_is_named_exists() -> None:
    wrong = {command: where for command, where in spoken().items() if unknown(command)}
    assert wrong == {}
    assert unknown("ase-exporter comprae --before now") == ["comprae"]
    assert unknown("ase-exporter sysmon diff a b --topp 3") == ["--topp"]
