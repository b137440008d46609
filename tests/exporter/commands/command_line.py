"""A command line run in this process, as the conftest's fixture `run` gives it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ended]
