"""Watches all output of the project's programs for the secrets that tests plant in configurations.

Watched are: the output of every exporter and simulator that a test starts as a process, through a pipe or into a
file; the command lines of exporters; every HTTP response that a test receives, headers included; the output of
commands that run inside the test process; and everything that pytest captures, log records included. Places where a
secret belongs, such as a configuration file, are not watched.
"""

import contextlib
import io
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import httpx2
import typer.testing
from tests import planted

EXPORTER = "ase-exporter"
# Our programs and modules in a command line; in a path, what follows bin/ is a program, a directory is not.
_OURS = re.compile(r"(?<![\w/.-])(?:[\w/.-]*bin/)?(ase[-_](?:exporter|simulator))(?![\w/-])")


def programs_of(command: str) -> set[str]:
    """Which of our programs a command line or a shell script runs."""
    return {name.replace("_", "-") for name in _OURS.findall(command)}


class Watch:
    """Collects leaks: which secret appeared where."""

    def __init__(self, secrets: frozenset[str]) -> None:
        forms = {form: secret for secret in secrets for form in (secret, quote(secret))}
        self._forms = {form.encode(): secret for form, secret in forms.items()}
        self._leaks: list[str] = []
        self._files: dict[Path, int] = {}
        self._lock = threading.Lock()

    def see(self, where: str, shown: str | bytes) -> bool:
        """Check output for secrets; whether one was found."""
        data = shown.encode(errors="replace") if isinstance(shown, str) else shown
        found = {secret for form, secret in self._forms.items() if form in data}
        if found:
            with self._lock:
                self._leaks += [f"{where} shows the secret {secret!r}" for secret in sorted(found)]
        return bool(found)

    def follow(self, path: Path) -> None:
        """Check a file as well, whenever leaks are taken."""
        with self._lock:
            self._files.setdefault(path, 0)

    def take(self) -> list[str]:
        """The leaks since the last call, each once."""
        for path, place in list(self._files.items()):
            with contextlib.suppress(OSError), path.open("rb") as file:
                file.seek(place)
                written = file.read()
                self.see(str(path), written)
                # A line of which only the beginning is there is looked at again.
                self._files[path] += written.rfind(b"\n") + 1
        with self._lock:
            leaks, self._leaks = self._leaks, []
        return list(dict.fromkeys(leaks))


class _WatchedPipe:
    """The end of a pipe that a test reads; what it reads is checked, by lines or as a whole."""

    def __init__(self, stream: IO[Any], see: Callable[[str | bytes], object]) -> None:
        self._stream, self._see = stream, see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Any]:
        while line := self.readline():
            yield line

    def readline(self) -> Any:
        line = self._stream.readline()
        self._see(line)
        return line

    def read(self) -> Any:
        text = self._stream.read()
        self._see(text)
        return text


def watch_everything(watch: Watch) -> None:
    """Check all output from now on, of this process and of its children."""

    def respond(response: httpx2.Response) -> None:
        watch.see(f"response to {response.request.url.path}", f"{response.headers.raw!r}")
        if response.is_stream_consumed:
            watch.see(f"response to {response.request.url.path}", response.content)

    def communicate(process: Any, outputs: Sequence[str | bytes | None]) -> None:
        for output in outputs if process.is_watched else ():
            watch.see(f"output of {process.args}", output or b"")

    send_async = httpx2.AsyncClient.send

    async def sent_async(*arguments: Any, **options: Any) -> httpx2.Response:
        response = await send_async(*arguments, **options)
        respond(response)
        return response

    httpx2.AsyncClient.send = sent_async  # type: ignore[method-assign]
    _then(httpx2.Client, "send", lambda _, response: respond(response))
    _then(typer.testing.CliRunner, "invoke", lambda _, ended: watch.see("a command", ended.output))
    _then(subprocess.Popen, "communicate", communicate)
    _watch_processes(watch)


def _then(owner: type, name: str, see: Callable[[Any, Any], object]) -> None:
    """Let a method show its object and its result."""
    method = getattr(owner, name)

    def called(itself: Any, *arguments: Any, **options: Any) -> Any:
        result = method(itself, *arguments, **options)
        see(itself, result)
        return result

    setattr(owner, name, called)


def _watch_processes(watch: Watch) -> None:
    start = subprocess.Popen.__init__

    def started(process: Any, args: Any, *rest: Any, **options: Any) -> None:
        start(process, args, *rest, **options)
        words = [os.fsdecode(arg) for arg in ([args] if isinstance(args, str | bytes | Path) else args)]
        programs = programs_of(" ".join(words))
        if EXPORTER in programs:
            watch.see("command line", " ".join(words))
        process.is_watched = bool(programs)
        if not process.is_watched:
            return
        for name in ("stdout", "stderr"):
            where = f"{name} of {' '.join(words[:4])}"
            if stream := getattr(process, name):
                setattr(process, name, _WatchedPipe(stream, partial(watch.see, where)))
            elif isinstance(options.get(name), io.IOBase):
                watch.follow(Path(f"/proc/self/fd/{options[name].fileno()}").readlink())

    subprocess.Popen.__init__ = started  # type: ignore[method-assign, assignment]


WATCH = Watch(planted.ALL)


@contextlib.contextmanager
def provoked() -> Iterator[list[str]]:
    """Collect the leaks within the block instead of failing the test; the list is filled when the block ends."""
    found: list[str] = []
    before = WATCH.take()
    assert not before
    yield found
    found += WATCH.take()
