"""Looks for planted secrets in all that our programs put out while the tests run.

What is looked at: the output of every exporter and simulator that a test starts as a process, through a pipe or
into a file; the command lines of exporters; every HTTP answer that a test gets, headers too; what commands print
that run within the tests; and all that pytest captured, log records too. Where a secret is meant to stand, as in
a configuration, nobody looks.
"""

import contextlib
import io
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import typer.testing
from tests import planted

_EXPORTER = re.compile(r"ase[_-]exporter")
_OURS = re.compile(r"ase[_-](exporter|simulator)")


class Watch:
    """Collects leaks: where which secret showed."""

    def __init__(self, secrets: frozenset[str]) -> None:
        forms = {form: secret for secret in secrets for form in (secret, quote(secret))}
        self._forms = {form.encode(): secret for form, secret in forms.items()}
        self._longest = max(map(len, self._forms))
        self._leaks: list[str] = []
        self._files: dict[Path, tuple[int, Callable[[bytes], None]]] = {}
        self._lock = threading.Lock()

    def see(self, where: str, shown: str | bytes) -> bool:
        """Look at something that was put out; whether there was a secret in it."""
        data = shown.encode(errors="replace") if isinstance(shown, str) else shown
        found = {secret for form, secret in self._forms.items() if form in data}
        if found:
            with self._lock:
                self._leaks += [f"{where} shows the secret {secret!r}" for secret in sorted(found)]
        return bool(found)

    def stream(self, where: str) -> Callable[[bytes], None]:
        """Looks at what comes in pieces, so that a secret may come in two of them."""
        last = b""

        def see(piece: bytes) -> None:
            nonlocal last
            whole = last + piece
            last = b"" if self.see(where, whole) else whole[-self._longest + 1 :]

        return see

    def follow(self, path: Path) -> None:
        """Look at a file too, whenever leaks are taken."""
        with self._lock:
            self._files.setdefault(path, (0, self.stream(str(path))))

    def take(self) -> list[str]:
        """The leaks since the last time, each once."""
        for path, (place, see) in list(self._files.items()):
            with contextlib.suppress(OSError), path.open("rb") as file:
                file.seek(place)
                see(file.read())
                self._files[path] = (file.tell(), see)
        with self._lock:
            leaks, self._leaks = self._leaks, []
        return list(dict.fromkeys(leaks))


class _Teed(io.FileIO):
    """A pipe's end whose bytes are looked at as they are read."""

    see: Callable[[bytes], None]

    def readinto(self, buffer: Any) -> int | None:  # type: ignore[override]
        count = super().readinto(buffer)
        if count:
            self.see(bytes(memoryview(buffer)[:count]))
        return count

    def readall(self) -> bytes:  # type: ignore[override]
        data = super().readall()
        self.see(data)
        return data


def watch_everything(watch: Watch) -> None:
    """Look at all that is put out from now on, in this process and by its children."""
    _watch_processes(watch)
    _watch_answers(watch)
    _watch_commands(watch)


def _watch_processes(watch: Watch) -> None:
    start, communicate = subprocess.Popen.__init__, subprocess.Popen.communicate

    def started(process: Any, args: Any, *rest: Any, **options: Any) -> None:
        start(process, args, *rest, **options)
        words = [os.fsdecode(arg) for arg in ([args] if isinstance(args, str | bytes | Path) else args)]
        said = " ".join(words)
        if _EXPORTER.search(said):
            watch.see("command line", said)
        process.is_ours = bool(_OURS.search(said))
        if not process.is_ours:
            return
        for name in ("stdout", "stderr"):
            where = f"{name} of {' '.join(words[:4])}"
            stream = getattr(process, name)
            if isinstance(stream, io.TextIOWrapper | io.BufferedReader):
                setattr(process, name, _teed(stream, watch.stream(where)))
            elif stream is None and isinstance(options.get(name), io.IOBase):
                watch.follow(Path(f"/proc/self/fd/{options[name].fileno()}").readlink())

    def communicated(process: Any, *arguments: Any, **options: Any) -> Any:
        answer = communicate(process, *arguments, **options)
        for said in answer if process.is_ours else ():
            watch.see(f"output of {process.args}", said or b"")
        return answer

    subprocess.Popen.__init__ = started  # type: ignore[method-assign]
    subprocess.Popen.communicate = communicated  # type: ignore[method-assign]


def _teed(
    stream: io.TextIOWrapper | io.BufferedReader, see: Callable[[bytes], None]
) -> io.TextIOWrapper | io.BufferedReader:
    teed = _Teed(os.dup(stream.fileno()), "rb")
    teed.see = see
    stream.close()
    binary = io.BufferedReader(teed)
    if not isinstance(stream, io.TextIOWrapper):
        return binary
    return io.TextIOWrapper(binary, encoding=stream.encoding, errors=stream.errors)


def _watch_answers(watch: Watch) -> None:
    def see(answer: httpx.Response) -> None:
        watch.see(f"answer to {answer.request.url.path}", f"{answer.headers.raw!r}")
        if answer.is_stream_consumed:
            watch.see(f"answer to {answer.request.url.path}", answer.content)

    send, send_async = httpx.Client.send, httpx.AsyncClient.send

    def sent(*arguments: Any, **options: Any) -> httpx.Response:
        answer = send(*arguments, **options)
        see(answer)
        return answer

    async def sent_async(*arguments: Any, **options: Any) -> httpx.Response:
        answer = await send_async(*arguments, **options)
        see(answer)
        return answer

    httpx.Client.send = sent  # type: ignore[method-assign]
    httpx.AsyncClient.send = sent_async  # type: ignore[method-assign]


def _watch_commands(watch: Watch) -> None:
    invoke = typer.testing.CliRunner.invoke

    def invoked(*arguments: Any, **options: Any) -> Any:
        result = invoke(*arguments, **options)
        watch.see("output of a command", result.output)
        return result

    typer.testing.CliRunner.invoke = invoked  # type: ignore[method-assign]


WATCH = Watch(planted.ALL)


@contextlib.contextmanager
def provoked() -> Iterator[list[str]]:
    """The leaks within the block, which are no failure; in the list after it."""
    found: list[str] = []
    before = WATCH.take()
    assert not before
    yield found
    found += WATCH.take()
