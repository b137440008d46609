"""A cheap scraper: many concurrent scrapes over reused connections, with Prometheus's headers."""

import asyncio
import gzip
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.exporter.running_exporter import RunningExporter, exporter

from ase_exporter.web.app import TIMEOUT_HEADER

TIMEOUT = 10.0
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scrape:
    """One scrape. seconds: from when it was due to its end. missed: '' or why there is none. lines: of its text."""

    target: str
    due: float
    seconds: float
    missed: str
    lines: int


class Scraper:
    """Scrapes one exporter over a pool of connections. scrapes: all scrapes so far."""

    def __init__(self, url: str, accept: str = "text/plain") -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._address = (host, int(port))
        self._accept = accept
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.scrapes: list[Scrape] = []

    async def scrape(self, name: str, due: float, seconds: float = TIMEOUT) -> str:
        """Scrape one target now, record the outcome and return the text; '' if there is none."""
        body, missed = b"", ""
        try:
            async with asyncio.timeout(due + seconds - time.monotonic()):
                body = gzip.decompress(await self.get(f"/probe?target={name}", seconds))
        except TimeoutError:
            missed = "timeout"
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            missed = repr(error)
        taken = time.monotonic() - due
        if not missed and b"\nase_up 1.0\n" not in body:
            missed = "down"
        self.scrapes.append(Scrape(name, due, taken, missed, body.count(b"\n")))
        return body.decode()

    async def get(self, path: str, seconds: float) -> bytes:
        """The body of a response, gzip-compressed. Raises ValueError unless the status is 200."""
        request = (
            f"GET {path} HTTP/1.1\r\nHost: exporter\r\nUser-Agent: Prometheus/2.42.0\r\n"
            f"Accept: {self._accept}\r\nAccept-Encoding: gzip\r\n{TIMEOUT_HEADER}: {seconds}\r\n\r\n"
        ).encode()
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                break
            writer.close()
        else:
            reader, writer = await asyncio.open_connection(*self._address)
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            if not head.startswith(b"HTTP/1.1 200 ") or length is None:
                raise ValueError(head.split(b"\r\n")[0].decode())
            body = await reader.readexactly(int(length[1]))
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return body

    def close(self) -> None:
        """Close the idle connections."""
        for _, writer in self._idle:
            writer.close()


@asynccontextmanager
async def scraped(
    directory: Path,
    configuration: str,
    accept: str = "text/plain",
    before: Callable[[], None] | None = None,
    environment: dict[str, str] | None = None,
) -> AsyncIterator[tuple[RunningExporter, Scraper]]:
    """An exporter in a process of its own and a scraper of it; its log is in `directory` afterwards."""
    opened = exporter(directory, configuration, before=before, environment=environment)
    running = await asyncio.to_thread(opened.__enter__)
    scraper = Scraper(running.url, accept)
    try:
        yield running, scraper
    finally:
        scraper.close()
        await asyncio.to_thread(opened.__exit__, None, None, None)
        (directory / "log").write_text(running.log)
