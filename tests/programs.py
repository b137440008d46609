"""Programs that tests run beside themselves, and waiting for what they do."""

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

# Seconds that nothing but a hang takes: the wait for what a running program does in milliseconds, though others hold
# the machine.
SOON = 60.0
# The same for the start or the end of a program: starting takes seconds of CPU.
START = 120.0


def eventually(
    what: str, condition: Callable[[], bool], seconds: float = SOON, *, every: float = 0.02
) -> None:
    """Wait until the condition holds. Raises AssertionError if it does not in time.

    every: seconds between two looks, more for those that cost much.
    """
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(every)


async def eventually_here(what: str, condition: Callable[[], bool]) -> None:
    """The same for what happens on this event loop."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {SOON} s"
        await asyncio.sleep(0.01)


def answers(url: str) -> bool:
    """Whether a server answers there without an error."""
    try:
        return bool(httpx2.get(url, trust_env=False, timeout=SOON).is_success)
    except httpx2.TransportError:
        return False


def said_by(*command: str | Path, **options: Any) -> str:
    """What a program prints, which must end well. options: of subprocess.run."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return str(done.stdout)


@contextmanager
def running(
    log: Path, *command: str | Path, environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program until the end of the block. log: gets its output; environment: added to that of the tests."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | dict(environment or {}),
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(START)


@contextmanager
def listening(log: Path, *command: str | Path, environment: Mapping[str, str] | None = None) -> Iterator[int]:
    """The same for a program that says on which port of loopback it listens: yields the port."""
    with running(log, *command, environment=environment) as process:
        said: list[str] = []

        def heard() -> bool:
            said[:] = re.findall(r"listen.*127\.0\.0\.1:([1-9]\d*)", log.read_text(), re.IGNORECASE)
            assert said or process.poll() is None, log.read_text()
            return bool(said)

        eventually(f"a port in {log}", heard, START)
        yield int(said[0])
