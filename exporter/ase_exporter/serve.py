"""`ase-exporter serve`: the web server and its signals."""

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from ase_exporter import memory
from ase_exporter.errors import UserError
from ase_exporter.guard import Guard
from ase_exporter.loading import Loaded
from ase_exporter.patience import LARGEST_HEAD, PatientProtocol
from ase_exporter.web import Front, create_app
from ase_exporter.webconfig import WebConfig

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 2
# Two Prometheus servers that keep a connection for each of a thousand targets are well below it.
MOST_CONNECTIONS = 4096
# Prometheus keeps its connections from scrape to scrape: longer than the usual intervals.
KEEP_ALIVE = 75
MOST_DESCRIPTORS = 65536


class _Server(uvicorn.Server):
    """A server without uvicorn's signal handling, which would end a clean stop with the signal's own status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to us."""
        yield

    def stop(self) -> None:
        """End when all requests are answered, or after SHUTDOWN_SECONDS."""
        self.should_exit = True


def listen(address: str) -> socket.socket:
    """A listening socket for HOST:PORT, [IPV6]:PORT or :PORT (all). UserError if it cannot be had."""
    host, separator, port = address.rpartition(":")
    host = host.strip("[]")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise UserError(f"--web.listen-address: {address!r}: expected HOST:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise UserError(f"--web.listen-address: {address}: {error.strerror or error}") from error
    return listener


def serve(
    load: Callable[[], Loaded],
    loaded: Loaded,
    listener: socket.socket,
    web: WebConfig,
    state_directory: Path | None,
) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP loads again what was loaded. UserError if it cannot start."""
    _allow_many_descriptors()
    memory.settle()
    asyncio.run(_serve(load, loaded, listener, web, state_directory))


def _allow_many_descriptors() -> None:
    # The usual limit of 1024 is for programs that still use select(2); a connection or a target is one each.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(
    load: Callable[[], Loaded],
    loaded: Loaded,
    listener: socket.socket,
    web: WebConfig,
    state_directory: Path | None,
) -> None:
    front = Front(load, loaded, state_directory)
    front.watch(web)
    settings = uvicorn.Config(
        Guard(create_app(front), web, front.requests.labels("", "401").inc),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        http=PatientProtocol,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE,
        ws="none",
    )
    settings.load()
    settings.ssl = web.tls()
    server = _Server(settings)
    reloads: set[asyncio.Task[None]] = set()

    async def reload() -> None:
        try:
            await front.reload()
        except UserError as error:
            log.error("configuration not loaded, the old one stays: %s", error)

    def on_hangup() -> None:
        task = asyncio.create_task(reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    for ending in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(ending, server.stop)
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.ssl else "http"
    memory.give_back()
    log.info("listening on %s://%s:%d, %d targets", scheme, host, port, len(front.config.targets))
    if not front.config.targets and not front.config.host:
        log.warning("nothing to read: no target and no host; give --config.file, or set ASE_HOST")
    await server.serve(sockets=[listener])
