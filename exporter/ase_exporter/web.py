"""The HTTP side: /metrics, /probe, /targets, health, reload and the landing page."""

import asyncio
import contextlib
import gzip
import html
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ase_exporter.changes.hostlook import HostWatch
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.metrics import host_families, own_families, target_families
from ase_exporter.changes.routes import change_routes
from ase_exporter.config import Config
from ase_exporter.errors import UserError
from ase_exporter.families import Family, render_openmetrics, render_text, single
from ase_exporter.host import HostCollectors
from ase_exporter.ipc import ScrapeReply
from ase_exporter.loading import Loaded
from ase_exporter.pages import page
from ase_exporter.pool import BusyError, TargetState, WorkerPool
from ase_exporter.webconfig import WebConfig

if TYPE_CHECKING:
    from ase_exporter.compare.judge import Judge

log = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
TIMEOUT_HEADER = "X-Prometheus-Scrape-Timeout-Seconds"
LONGEST_TIMEOUT = 3600.0
PIECE = 256 * 1024


class Front:
    """What the requests share: the configuration, the workers, the changes, our own metrics."""

    def __init__(
        self, load: Callable[[], Loaded], loaded: Loaded, state_directory: Path | None = None
    ) -> None:
        """load: reads what was loaded again."""
        self._load = load
        self._reloading = asyncio.Lock()
        self._host_reading = asyncio.Lock()
        _complain(loaded)
        self.config = config = loaded.config
        self.journal = Journal(config.changes, state_directory, _host_watch(config))
        self.judge = self._new_judge(config)
        self._judging: asyncio.Task[None] | None = None
        self.pool = WorkerPool(loaded, self.journal, self.known)
        self.host = HostCollectors(config.host) if config.host else None
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        build = Gauge(
            "ase_exporter_build_info", "Always 1, with the version.", ["version"], registry=self.registry
        )
        build.labels(version("ase-exporter")).set(1)
        restarts = Gauge(
            "ase_exporter_worker_restarts",
            "Worker processes started anew since the configuration was loaded.",
            registry=self.registry,
        )
        restarts.set_function(lambda: self.pool.restarts)
        targets = Gauge("ase_exporter_targets", "Targets configured.", registry=self.registry)
        targets.set_function(lambda: len(self.config.targets))
        guests = Gauge(
            "ase_exporter_allowed_targets",
            "Servers that are not configured but allowed by a pattern, as far as they are being asked for.",
            registry=self.registry,
        )
        guests.set_function(lambda: self.pool.guests)
        self._reload_ok = Gauge(
            "ase_exporter_config_last_reload_successful",
            "1 if the configuration was read without an error when it was last asked for.",
            registry=self.registry,
        )
        self._reload_ok.set(1)
        self._loaded_at = Gauge(
            "ase_exporter_config_last_reload_success_timestamp_seconds",
            "When the configuration in use was read.",
            registry=self.registry,
        )
        self._loaded_at.set_to_current_time()
        self.requests = Counter(
            "ase_exporter_http_requests", "Requests answered.", ["path", "code"], registry=self.registry
        )

    def watch(self, web: WebConfig) -> None:
        """Show how the web configuration file fares."""
        gauge = Gauge(
            "ase_exporter_web_config_last_reload_successful",
            "1 if the web configuration file could be used when it was last read.",
            registry=self.registry,
        )
        gauge.set_function(lambda: float(web.ok))

    async def reload(self) -> None:
        """Read the configuration again and go over to it; a bad one raises UserError and changes nothing."""
        async with self._reloading:
            try:
                loaded = await asyncio.to_thread(self._load)
            except UserError:
                self._reload_ok.set(0)
                raise
            _complain(loaded)
            config = loaded.config
            pool = WorkerPool(loaded, self.journal, self.known)
            await pool.start()
            old, self.pool, self.config = self.pool, pool, config
            await self._replace_host(config)
            await self.journal.configure(config.changes, _host_watch(config))
            self._stop_judging()
            self.judge = self._new_judge(config)
            self._start_judging()
            self._reload_ok.set(1)
            self._loaded_at.set_to_current_time()
            await old.stop()
            log.info("configuration loaded, %d targets", len(config.targets))

    async def _replace_host(self, config: Config) -> None:
        # The old collectors may be at work in a thread.
        async with self._host_reading:
            if self.host:
                self.host.close()
            self.host = HostCollectors(config.host) if config.host else None

    def known(self, target: str) -> list[Family]:
        """What is known here of a target, beside what its worker reads: changes, and the verdicts on them."""
        return [*target_families(self.journal, target), *(self.judge.families(target) if self.judge else ())]

    def _new_judge(self, config: Config) -> "Judge | None":
        if config.verdicts is None:
            return None
        # numpy comes with it: only for those who want verdicts.
        from ase_exporter.compare.judge import Judge

        return Judge(config.verdicts, self.journal, lambda: [target.name for target in self.config.targets])

    def _start_judging(self) -> None:
        if self.judge:
            self._judging = asyncio.create_task(self.judge.run())

    def _stop_judging(self) -> None:
        if self._judging:
            self._judging.cancel()
            self._judging = None

    async def start(self) -> None:
        """Start the workers and what keeps the changes."""
        await self.journal.start()
        await self.pool.start()
        self._start_judging()

    async def stop(self) -> None:
        """End all that was started."""
        self._stop_judging()
        await self.pool.stop()
        await self.journal.stop()
        if self.host:
            self.host.close()

    async def host_families(self) -> list[Family]:
        """What the host's collectors read now; empty where the host part is off."""
        async with self._host_reading:
            host = self.host
            return await asyncio.to_thread(lambda: list(host.collect())) if host else []

    async def scrape(self, request: Request, target: str, *, compress: bool, module: str = "") -> ScrapeReply:
        """One scrape within the time that the request allows."""
        timeout = max(_timeout(request, self.config.scrape.timeout), self.config.scrape.least)
        margin = min(self.config.scrape.margin, timeout / 2)
        names = request.query_params.getlist("collect[]")
        reply = await self.pool.scrape(
            target,
            time.monotonic() + timeout - margin,
            collectors=frozenset(names) if names else None,
            openmetrics=_wants_openmetrics(request),
            compress=compress,
            module=module,
        )
        if reply.body:
            return reply
        # The worker is gone: the answer is ours.
        down = single("ase_up", "gauge", "1 if the server answered in this scrape.", 0.0)
        body = render_text([down]) + ("# EOF\n" if _wants_openmetrics(request) else "")
        data = body.encode()
        return ScrapeReply(reply.number, gzip.compress(data) if compress else data, up=False)


class Exposition(Response):
    """An answer that may be megabytes long, given to the socket as it takes them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, by ASGI."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = memoryview(self.body)
        for start in range(0, max(len(body), 1), PIECE):
            piece = {"body": body[start : start + PIECE], "more_body": start + PIECE < len(body)}
            await send({"type": "http.response.body", **piece})


def create_app(front: Front) -> Starlette:
    """The application; its lifespan starts and stops the workers."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await front.start()
        try:
            yield
        finally:
            await front.stop()

    async def metrics(request: Request) -> Response:
        openmetrics = _wants_openmetrics(request)
        generate: Callable[[CollectorRegistry], bytes] = (
            generate_openmetrics if openmetrics else generate_latest
        )
        render = render_openmetrics if openmetrics else render_text
        changes = [*own_families(front.journal), *host_families(front.journal)]
        host = render([*await front.host_families(), *changes]).encode()
        own = host.removesuffix(b"# EOF\n") + generate(front.registry)
        targets = front.config.targets
        if len(targets) == 1:
            reply = await front.scrape(request, targets[0].name, compress=False)
            own = bytes(reply.body).removesuffix(b"# EOF\n") + own
        return _exposition(request, own)

    async def probe(request: Request) -> Response:
        names = request.query_params.getlist("target")
        if len(names) != 1 or not names[0]:
            return PlainTextResponse("expected one parameter: target=NAME\n", 400)
        module = request.query_params.get("module", "")
        if module not in ("", "default", *front.config.modules):
            return PlainTextResponse("no such module is configured\n", 404)
        name = names[0]
        if name not in front.pool.states:
            allowed = front.config.allowed(name)
            if allowed is None:
                if front.config.allow.addresses:
                    return PlainTextResponse(
                        "no target of that name is configured, nor is it an address that is allowed\n", 403
                    )
                return PlainTextResponse("no such target is configured\n", 404)
            front.pool.admit(allowed)
            name = allowed.name
        compress = _accepts_gzip(request)
        reply = await front.scrape(request, name, compress=compress, module=module)
        headers = {"Content-Encoding": "gzip"} if compress else {}
        return Exposition(memoryview(reply.body), media_type=_content_type(request), headers=headers)

    async def targets(_: Request) -> Response:
        return JSONResponse(
            [
                {"targets": [target.name], "labels": {**target.labels, "__metrics_path__": "/probe"}}
                for target in front.config.targets
            ]
        )

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("healthy\n")

    async def ready(_: Request) -> Response:
        running, wanted = len(front.pool.pids), front.pool.size
        if running < wanted:
            return PlainTextResponse(f"not ready: {running} of {wanted} workers run\n", 503)
        return PlainTextResponse("ready\n")

    async def reload(_: Request) -> Response:
        try:
            await front.reload()
        except UserError as error:
            log.error("configuration not loaded, the old one stays: %s", error)
            return PlainTextResponse(f"not loaded, the old configuration stays: {error}\n", 500)
        return PlainTextResponse("loaded\n")

    async def landing(_: Request) -> Response:
        return HTMLResponse(_landing_page(front))

    def counted(
        path: str, handler: Callable[[Request], Awaitable[Response]], methods: Sequence[str] = ("GET",)
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                response = await handler(request)
            except BusyError as error:
                response = PlainTextResponse(f"{error}\n", 503)
            except ClientDisconnect:
                response = PlainTextResponse("the request did not come whole\n", 400)
            front.requests.labels(path, str(response.status_code)).inc()
            return response

        return Route(path, endpoint, methods=methods)

    routes = [
        counted("/", landing),
        counted("/metrics", metrics),
        counted("/probe", probe),
        counted("/targets", targets),
        counted("/-/healthy", healthy),
        counted("/-/ready", ready),
        counted("/-/reload", reload, ["POST", "PUT"]),
    ]
    changes = change_routes(front.journal, lambda: [target.name for target in front.config.targets])
    routes += [counted(route.path, route.handler, [route.method]) for route in changes]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.front = front
    return app


def _complain(loaded: Loaded) -> None:
    for problem in loaded.problems:
        log.error("left out of the catalogue: %s", problem)


def _host_watch(config: Config) -> HostWatch | None:
    if config.host is None or not config.changes.enabled:
        return None
    return HostWatch(str(config.host.procfs), str(config.host.sysfs))


def _timeout(request: Request, default: float) -> float:
    """Seconds that the caller waits: Prometheus says so in a header."""
    try:
        seconds = float(request.headers.get(TIMEOUT_HEADER, default))
    except ValueError:
        return default
    return seconds if 0 < seconds <= LONGEST_TIMEOUT else default


def _wants_openmetrics(request: Request) -> bool:
    return "application/openmetrics-text" in request.headers.get("accept", "")


def _accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _content_type(request: Request) -> str:
    return OPENMETRICS if _wants_openmetrics(request) else TEXT


def _exposition(request: Request, body: bytes) -> Response:
    if not _accepts_gzip(request):
        return Exposition(body, media_type=_content_type(request))
    packed = gzip.compress(body, compresslevel=1, mtime=0)
    return Exposition(packed, media_type=_content_type(request), headers={"Content-Encoding": "gzip"})


def _landing_page(front: Front) -> str:
    rows = [_landing_row(name, state) for name, state in front.pool.states.items()]
    return page(
        Path(__file__).parent / "landing.html",
        version=html.escape(version("ase-exporter")),
        rows="\n".join(rows) or '<tr><td colspan="5">No target is configured.</td></tr>',
    )


def _landing_row(name: str, state: TargetState) -> str:
    status = "not scraped yet" if state.up is None else "up" if state.up else "down"
    age = "" if state.at is None else f"{max(0.0, time.time() - state.at):.0f} s ago"
    remark = state.error or f"{state.series} series"
    if state.stretched:
        remark += f"; {state.stretched} collectors are read less often, to keep the budget"
    cells = [
        f'<a href="probe?target={html.escape(name)}">{html.escape(name)}</a>',
        f'<span class="{status.split()[0]}">{status}</span>',
        html.escape(state.version.split("/EBF")[0]),
        age,
        html.escape(remark),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
