"""The process that serves: start-up, the HTTP server and its signals. `supervisor` starts it, with a socket."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import uvicorn

from ase_exporter.ase.call_record import call_record
from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG
from ase_exporter.errors import UserError
from ase_exporter.web.app import ExporterApp, create_app
from ase_exporter.web.auth import Access
from ase_exporter.web.loading import load_again, load_and_keep
from ase_exporter.web.request_timeout import OneLength, RequestTimeoutProtocol, max_connections
from ase_exporter.web.supervisor import Legacy
from ase_exporter.web.web_config import WebConfig
from ase_exporter.web.write_access import WriteAccess, open_endpoints

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 2
# A TLS handshake takes 256 KiB, and asyncio waits a minute for it.
MAX_DESCRIPTORS = 8192
# Beside the thread that has the turn, the event loop and the watchdog want the GIL. With the default of 5 ms, each of
# their steps would wait for so long.
SWITCH_INTERVAL = 0.0005
# The memory limit of the process in bytes, and what each target adds: a thread's stack, of which little is ever used,
# and the target's state. A server that announces a value of 2 GiB then costs its connection, not the machine.
MAX_MEMORY = 512 << 20
MAX_MEMORY_PER_TARGET = 16 << 20
# Bytes of the request line and all headers, as far as they arrive in pieces.
MAX_HEAD = 16 * 1024


class _Server(uvicorn.Server):
    """A server without uvicorn's signal handling, which ends a clean stop with the signal's exit status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers."""
        yield


def run(
    legacy: Legacy,
    listener: socket.socket,
    config_file: Path | None,
    web_config_file: Path | None,
    state_directory: Path,
    access: WriteAccess,
    *,
    hosts: Collection[str] = (),
    is_temporary: bool = False,
) -> NoReturn:
    """Serve until SIGTERM or SIGINT; SIGHUP reloads the configuration. Raises UserError if it cannot start.

    hosts: names of this exporter that callers may ask for. is_temporary: of the state directory.
    """
    load_now = partial(load_and_keep, config_file, legacy.configuration)
    problem = None
    try:
        loaded = load_now()
    except UserError as error:
        if not (old := load_again(legacy.configuration)):
            raise
        loaded, problem = old, error
    web_config = WebConfig(web_config_file, legacy.web)
    SYSTEM_WATCHDOG.give_up = _give_up
    call_record.begin_process()
    for target in call_record.suspects:
        log.warning("target %s: a call of the driver was under way when the exporter died", target)
        if pause := call_record.pause(target):
            log.warning("target %s: %s", target, pause)
    for line in open_endpoints(address_of(listener), web_config.settings(), access):
        log.warning("%s", line)
    exporter = ExporterApp(
        load_now, loaded, state_directory, legacy.restarts, legacy.logins, is_temporary=is_temporary
    )
    if problem:
        exporter.keep_configuration(problem)
    # Nothing of what is wrong with the files or the state directory is found after this.
    _allow_many_descriptors()
    # A full collection would look at all that has been loaded, which lives as long as the process, for 50 ms.
    gc.freeze()
    # What a scrape makes lives until the next one: a tenth of the CPU would look for garbage in it.
    gc.set_threshold(20_000, 20, 50)
    _limit_memory(len(loaded.config.targets))
    sys.setswitchinterval(SWITCH_INTERVAL)
    threading.Thread(target=_end_with, args=(legacy.parent,), daemon=True).start()
    asyncio.run(_serve(exporter, listener, web_config, access, hosts))
    # Threads may hang in the driver, so none is waited for.
    logging.shutdown()
    os._exit(0)


def address_of(listener: socket.socket) -> str:
    """HOST:PORT of a socket."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _end_with(parent: int) -> None:
    """End this process with its supervisor, even if that is killed. parent: descriptor of its pipe."""
    os.read(parent, 1)
    os._exit(1)


def _give_up() -> None:
    """The driver does not come back from a call, though its socket is shut down: only a new process helps."""
    log.warning("a call of the driver never returned: starting again")
    logging.shutdown()
    os._exit(3)


def _limit_memory(targets: int) -> None:
    limit = MAX_MEMORY + targets * MAX_MEMORY_PER_TARGET
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _allow_many_descriptors() -> None:
    # Each connection and each target takes one. The usual limit of 1024 only serves programs that use select(2).
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(
    exporter: ExporterApp,
    listener: socket.socket,
    web_config: WebConfig,
    access: WriteAccess,
    hosts: Collection[str],
) -> None:
    exporter.watch(web_config)
    on_unauthorized = partial(exporter.metrics.count_response, "", 401)
    app = Access(create_app(exporter, access), web_config, on_unauthorized, hosts)
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
        # Longer than the usual scrape intervals, since Prometheus reuses its connections.
        timeout_keep_alive=75,
        # Connections that wait to be accepted; as many are accepted at once.
        backlog=64,
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
    # It was blocked by the supervisor: without a handler it would end the process.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, setattr, server, "should_exit", True)
    scheme = "https" if settings.ssl else "http"
    log.info("listening on %s://%s, targets: %d", scheme, address_of(listener), len(exporter.config.targets))
    if not exporter.config.targets and not exporter.config.host:
        log.warning(
            "nothing to scrape: no target and no host is configured: expected --config.file, ASE_HOST, or what"
            " `ase-exporter setup` writes"
        )
    beating = asyncio.create_task(_beat())
    await server.serve(sockets=[listener])
    beating.cancel()


async def _beat() -> None:
    """Show the supervisor that the event loop runs."""
    while True:
        call_record.beat()
        await asyncio.sleep(1.0)
