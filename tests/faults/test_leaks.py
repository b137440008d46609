"""The watch over planted secrets sees them wherever a program of ours may show them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import typer
import typer.testing
from tests.leaks import Watch, provoked
from tests.planted import ALL, INLINE

# Its text is in no command line, but in what it prints, and not in one piece.
PRINTING = f"import sys; print({INLINE[:8]!r}, end='', flush=True); print({INLINE[8:]!r})  # ase_exporter"
COMMAND = [sys.executable, "-c", PRINTING]


def by_lines(_: Path) -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert list(process.stdout) == [INLINE + "\n"]


def whole(_: Path) -> None:
    command = [
        *COMMAND[:2],
        PRINTING.replace("print(", "print(file=sys.stderr, *[").replace(", end", "], end"),
    ]
    command[2] = command[2].replace(")  #", "])  #")
    ended = subprocess.run(command, capture_output=True)
    assert ended.stderr == f"{INLINE}\n".encode()


def into_a_file(directory: Path) -> None:
    with (directory / "out").open("wb") as file:
        subprocess.run(COMMAND, stdout=file, check=True)


def on_a_command_line(_: Path) -> None:
    subprocess.run([sys.executable, "-c", "", "ase_exporter", INLINE], check=True)


def in_an_answer(_: Path) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=f"<b>{INLINE}</b>")

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        assert client.get("http://127.0.0.1/").is_success


def in_a_header(_: Path) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"X-Error": INLINE})

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        assert client.get("http://127.0.0.1/").is_success


def by_a_command(_: Path) -> None:
    app = typer.Typer()
    app.command()(lambda: typer.echo(INLINE))
    assert typer.testing.CliRunner().invoke(app).exit_code == 0


@pytest.mark.parametrize(
    "leak",
    [by_lines, whole, into_a_file, on_a_command_line, in_an_answer, in_a_header, by_a_command],
)
def test_a_secret_that_shows_is_seen(leak: Callable[[Path], None], tmp_path: Path) -> None:
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
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, f"--rootdir={tmp_path}", f"--config-file={root / 'pyproject.toml'}", file],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    assert ended.returncode == 1, ended.stdout
    assert "2 failed, 1 passed in" in ended.stdout
    assert f"Captured log call shows the secret '{INLINE}'" in ended.stdout
    assert f"Captured stdout call shows the secret '{INLINE}'" in ended.stdout


def test_what_is_not_ours_and_what_is_no_secret_is_no_leak() -> None:
    with provoked() as leaks:
        subprocess.run(["printf", INLINE], stdout=subprocess.PIPE, check=True)
        subprocess.run([sys.executable, "-c", "print('planted')  # ase_exporter"], capture_output=True)
    assert leaks == []


def test_a_secret_in_pieces_or_percent_encoded_is_seen() -> None:
    watch = Watch(frozenset({"planted as good"}))
    see = watch.stream("here")
    see(b"plant")
    see(b"ed as good")
    watch.see("there", "/probe?pw=planted%20as%20good")
    assert watch.take() == [
        "here shows the secret 'planted as good'",
        "there shows the secret 'planted as good'",
    ]
    assert watch.take() == []


def test_no_secret_is_part_of_another_or_an_everyday_word() -> None:
    for secret in ALL:
        assert len(secret) > 12
        assert not any(secret in other for other in ALL - {secret})
