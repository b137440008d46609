"""The watch over planted secrets finds them wherever the exporter or the simulator may reveal them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
import typer.testing
from tests.leaks import Watch, programs_of, provoked
from tests.paths import REPOSITORY
from tests.planted import ALL, INLINE

# The secret is in no command line; it is in the output, in two pieces.
PRINTING = f"import sys, ase_exporter; print({INLINE[:8]!r}, end='', flush=True); print({INLINE[8:]!r})"
COMMAND = [sys.executable, "-c", PRINTING]


def by_lines(_: Path) -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert list(process.stdout) == [INLINE + "\n"]


def whole(_: Path) -> None:
    code = f"import sys, ase_exporter; print({INLINE[:8]!r} + {INLINE[8:]!r}, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert ended.stderr == f"{INLINE}\n".encode()


def into_a_file(directory: Path) -> None:
    with (directory / "out").open("wb") as file:
        subprocess.run(COMMAND, stdout=file, check=True)


def on_a_command_line(_: Path) -> None:
    subprocess.run([sys.executable, "-c", "import ase_exporter", INLINE], check=True)


def in_an_answer(_: Path, **answer: Any) -> None:
    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, **(answer or {"text": f"<b>{INLINE}</b>"}))

    with httpx2.Client(transport=httpx2.MockTransport(respond)) as client:
        assert client.get("http://127.0.0.1/").is_success


def in_a_header(directory: Path) -> None:
    in_an_answer(directory, headers={"X-Error": INLINE})


def by_a_command(_: Path) -> None:
    app = typer.Typer()
    app.command()(lambda: typer.echo(INLINE))
    assert typer.testing.CliRunner().invoke(app).exit_code == 0


@pytest.mark.parametrize(
    "leak", [by_lines, whole, into_a_file, on_a_command_line, in_an_answer, in_a_header, by_a_command]
)
def test_a_revealed_secret_is_found(leak: Callable[[Path], None], tmp_path: Path) -> None:
    with provoked() as leaks:
        leak(tmp_path)
    assert leaks
    assert all(f"shows the secret '{INLINE}'" in line for line in leaks)


def test_a_test_in_which_a_secret_is_logged_or_printed_fails(tmp_path: Path) -> None:
    file = tmp_path / "test_inner.py"
    file.write_text(
        "import logging\n"
        "from tests.planted import INLINE\n"
        "def test_logged(): logging.getLogger('x').warning(INLINE)\n"
        "def test_printed(): print(INLINE)\n"
        "def test_neither(): assert len(INLINE)\n",
        encoding="utf-8",
    )
    root = REPOSITORY
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, f"--rootdir={tmp_path}", f"--config-file={root / 'pyproject.toml'}", file],
        capture_output=True,
        text=True,
        timeout=100,
        # The options of the tests around it may leave it out.
        env=os.environ | {"PYTHONPATH": str(root), "PYTEST_ADDOPTS": ""},
    )
    assert ended.returncode == 1, ended.stdout
    assert "2 failed, 1 passed in" in ended.stdout
    assert f"Captured log call shows the secret '{INLINE}'" in ended.stdout
    assert f"Captured stdout call shows the secret '{INLINE}'" in ended.stdout


def test_other_programs_and_other_words_are_no_leak() -> None:
    with provoked() as leaks:
        subprocess.run(["printf", INLINE], stdout=subprocess.PIPE, check=True)
        subprocess.run([sys.executable, "-c", "import ase_exporter; print('planted')"], capture_output=True)
    assert leaks == []


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("/src/ase-exporter/.venv/bin/ase-exporter serve", {"ase-exporter"}),
        ("ase-simulator --port=0", {"ase-simulator"}),
        ("/x/bin/python3.11 -X dev -u -m ase_exporter serve", {"ase-exporter"}),
        ("python -m ase_simulator.cli", {"ase-simulator"}),
        ("python /x/bin/ase-exporter check", {"ase-exporter"}),
        ("python -c from ase_exporter.cli import main; main()", {"ase-exporter"}),
        ("bash -c ASE_HOST=x ase-exporter check | head\n:", {"ase-exporter"}),
        ("sh -c exec .venv/bin/ase-exporter serve", {"ase-exporter"}),
        ("sh -c python3 -m ase_simulator & ase-exporter check", {"ase-simulator", "ase-exporter"}),
        ("python -m pytest /src/ase-exporter/tests", set()),
        ("promtool check rules /src/ase-exporter/alerts/rules", set()),
        ("sh -c cd /src/ase-exporter && ls /etc/ase-exporter/x", set()),
    ],
)
def test_the_program_decides_whose_output_is_watched(command: str, program: set[str]) -> None:
    assert programs_of(command) == program


def test_a_secret_in_pieces_or_percent_encoded_is_found_once(tmp_path: Path) -> None:
    watch = Watch(frozenset({"planted as good"}))
    log = tmp_path / "log"
    log.write_text("a line\nplant")
    watch.follow(log)
    assert watch.take() == []
    log.write_text("a line\nplanted as good\n")
    watch.see("there", "/probe?pw=planted%20as%20good")
    found = [f"{where} shows the secret 'planted as good'" for where in ("there", log)]
    assert (watch.take(), watch.take()) == (found, [])


def test_no_secret_is_part_of_another_or_an_everyday_word() -> None:
    for secret in ALL:
        assert len(secret) > 12
        assert not any(secret in other for other in ALL - {secret})
