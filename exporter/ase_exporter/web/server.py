"""The web process of `ase-exporter serve`: start-up, the HTTP server and its signals."""

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import uvicorn

from ase_exporter import malloc
from ase_exporter.errors import UserError
from ase_exporter.web.app import ExporterApp, create_app
from ase_exporter.web.auth import BasicAuth
from ase_exporter.web.open_endpoints import open_endpoints
from ase_exporter.web.request_timeout import OneLength, RequestTimeoutProtocol, max_connections
from ase_exporter.web.web_config import WebConfig
from ase_exporter.web.write_access import WriteAccess
from ase_exporter.workers import loading
from ase_exporter.workers.loading import Loaded

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 2
# Seconds. Longer than the usual scrape intervals, since Prometheus reuses its connections.
KEEP_ALIVE = 75
# A TLS handshake takes 256 KiB, and asyncio waits a minute for it.
MAX_DESCRIPTORS = 8192
# Bytes of the request line and all headers, as far as they arrive in pieces.
MAX_HEAD = 16 * 1024
# Connections that wait to be accepted; as many are accepted at once.
BACKLOG = 64


class _Server(uvicorn.Server):
    """A server without uvicorn's signal handling, which ends a clean stop with the signal's exit status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers."""
        yield

    def stop(self) -> None:
        """Stop when all requests are answered, after SHUTDOWN_SECONDS at the latest."""
        self.should_exit = True


def listen(address: str) -> socket.socket:
    """A listening socket for HOST:PORT, [IPV6]:PORT or :PORT (all addresses). Raises UserError."""
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


def run(
    config_file: Path | None,
    listen_address: str,
    web_config_file: Path | None,
    state_directory: Path | None,
    access: WriteAccess,
) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reloads the configuration. Raises UserError if it cannot start."""
    load = partial(loading.load, config_file)
    loaded = load()
    web_config = WebConfig(web_config_file)
    listener = listen(listen_address)
    for line in open_endpoints(listen_address, web_config.settings(), access):
        log.warning("%s", line)
    _allow_many_descriptors()
    malloc.settle()
    asyncio.run(_serve(load, loaded, listener, web_config, state_directory, access))


def _allow_many_descriptors() -> None:
    # Each connection and each target takes one. The usual limit of 1024 only serves programs that use select(2).
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(
    load: Callable[[], Loaded],
    loaded: Loaded,
    listener: socket.socket,
    web_config: WebConfig,
    state_directory: Path | None,
    access: WriteAccess,
) -> None:
    exporter = ExporterApp(load, loaded, state_directory)
    exporter.watch(web_config)
    app = BasicAuth(
        create_app(exporter, access), web_config, partial(exporter.metrics.count_response, "", 401)
    )
    RequestTimeoutProtocol.max_connections = max_connections()
    settings = uvicorn.Config(
        OneLength(app),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        http=RequestTimeoutProtocol,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=KEEP_ALIVE,
        backlog=BACKLOG,
        ws="none",
    )
    settings.load()
    settings.ssl = web_config.tls()
    server = _Server(settings)
    reloads: set[asyncio.Task[None]] = set()

    async def reload() -> None:
        # It is in the log.
        with contextlib.suppress(UserError):
            await exporter.reload()

    def on_hangup() -> None:
        task = asyncio.create_task(reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.ssl else "http"
    malloc.give_back()
    log.info("listening on %s://%s:%d, targets: %d", scheme, host, port, len(exporter.config.targets))
    if not exporter.config.targets and not exporter.config.host:
        log.warning(
            "nothing to scrape: no target and no host is configured; give --config.file or set ASE_HOST"
        )
    await server.serve(sockets=[listener])
